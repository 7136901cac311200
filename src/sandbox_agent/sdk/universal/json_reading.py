"""Reading JSON of unknown shape.

Each function returns the value if it has the wanted type and a neutral value otherwise, so the mapper never
raises on input from an agent. `json_text` sorts keys, as the legacy JSON did; this also makes the result
independent of stores that do not keep key order.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any


def as_dict(value: Any) -> dict[str, Any]:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    """The value if it is an array, else an empty one."""
    return value if isinstance(value, list) else []


def as_text(value: Any) -> str | None:
    """The value if it is a string that is not empty."""
    return value if isinstance(value, str) and value else None


def as_int(value: Any) -> int | None:
    """The value if it is an integer and not a boolean."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def json_text(value: Any) -> str:
    """Compact JSON with sorted keys."""
    try:
        return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    except RecursionError:
        return '"[nested too deeply]"'


def sha256(text: str) -> str:
    """The hex digest of a text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
