"""What the server promises on the wire, proven from outside over plain sockets."""
