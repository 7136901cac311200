"""`sandbox-agent exec` and `sandbox-agent shell`: commands and terminals in the sandbox."""
