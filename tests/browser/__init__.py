"""The inspector in a real browser, against the real server and the mock agent."""
