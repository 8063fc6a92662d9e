"""What is general in the reference server: MCP's doors, transports, database, clock, effects."""
