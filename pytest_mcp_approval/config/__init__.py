"""What the user asked for: options, files and tables, and what is wrong with them."""
