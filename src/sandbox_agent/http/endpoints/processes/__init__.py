"""`/v1/processes`: processes and terminals that users start."""
