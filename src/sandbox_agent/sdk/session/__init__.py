"""Sessions: conversations with an agent that outlive agent processes, servers and clients."""
