"""Agent processes as the client sees them, and which sessions share one."""
