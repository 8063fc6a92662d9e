"""Where the reference server keeps what it must remember: in memory, or in a database."""
