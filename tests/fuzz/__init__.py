"""Generated input, judged by somebody else's implementation: lines, streams and requests at the socket."""
