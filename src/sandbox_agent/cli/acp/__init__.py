"""`sandbox-agent acp`: an ACP agent on stdio in front of an agent here or on a server."""
