"""Processes and terminals that users start: tagged trees with an event log each, like agents."""
