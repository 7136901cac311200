"""The published TypeScript clients of the reference, run unchanged under Node against this server."""
