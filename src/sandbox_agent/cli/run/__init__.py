"""`sandbox-agent run`: from nothing to an answer in the terminal."""
