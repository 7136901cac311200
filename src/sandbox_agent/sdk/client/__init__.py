"""The client object: `AsyncSandboxAgent` and what it is configured with."""
