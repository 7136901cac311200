"""What tests share: a scripted agent, server processes, raw HTTP, event streams, leak checks."""
