"""What the user asked for: options, files and tables, and their errors."""
