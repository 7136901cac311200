"""The way to the server: HTTP with retries, the event stream, and pending ACP requests."""
