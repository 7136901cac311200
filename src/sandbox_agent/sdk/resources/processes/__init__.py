"""`client.processes` and `client.terminals`."""
