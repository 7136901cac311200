"""`sandbox-agent rollouts`: many tasks in one command."""
