"""`sandbox-agent api`: every endpoint of a running server as a command."""
