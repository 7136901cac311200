"""What connects a session to its agent: the instance it runs in, its messages both ways, its record."""
