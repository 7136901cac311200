"""What a session recorded, how it is read back, and how a session is restored from it."""
