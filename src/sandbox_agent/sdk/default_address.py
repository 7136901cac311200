"""The address of a server that was started without options."""

from __future__ import annotations

DEFAULT_PORT = 2468
DEFAULT_URL = f"http://127.0.0.1:{DEFAULT_PORT}"
