"""A model server on loopback that replaces the vendors' servers; the prompt itself is the script.

A prompt contains directives in double brackets, executed in order; see `script.py`. The server keeps no state
between requests: the next step follows from the conversation in each request.
"""

from .server import FakeModel

__all__ = ["FakeModel"]
