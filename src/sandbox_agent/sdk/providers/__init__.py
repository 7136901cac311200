"""Where a server runs: on this machine, inside this process, or in a sandbox of a provider."""
