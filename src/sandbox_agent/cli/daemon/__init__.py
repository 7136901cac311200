"""`sandbox-agent daemon`: the server in the background, one per address."""
