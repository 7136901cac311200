"""A model server on loopback that real agents take for their vendor's, scripted by the prompt itself.

A prompt carries directives in double brackets, worked off in order; see `script.py`. The server keeps no
state between requests: what to do next follows from the conversation that every request carries.
"""

from .server import FakeModel

__all__ = ["FakeModel"]
