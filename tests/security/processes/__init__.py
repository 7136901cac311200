"""Processes that try to outlive their agent or their server."""
