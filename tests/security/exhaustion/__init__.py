"""Servers that are made to use up memory, descriptors or time."""
