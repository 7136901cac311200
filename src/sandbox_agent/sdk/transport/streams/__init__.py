"""Event streams: read, decoded, and shared by the instances of a client."""
