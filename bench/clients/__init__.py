"""Client programs of the SDK figures; each measures its own process and prints one JSON object."""
