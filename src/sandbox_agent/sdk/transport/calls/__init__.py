"""Requests to an agent: sent once, and settled by an answer or a typed error."""
