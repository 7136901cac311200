"""Generated lines, streams and requests, checked against other implementations."""
