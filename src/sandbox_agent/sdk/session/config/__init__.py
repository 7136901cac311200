"""Modes, models, options and MCP servers of a session."""
