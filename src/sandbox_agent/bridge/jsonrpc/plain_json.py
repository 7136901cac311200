"""JSON for the first moments of a server: the interpreter's own scanner, without the library around it.

`json` and msgspec take longer to load than a server to start. What is decoded here is what nearly everybody
sends; about everything else this module says only that it does not know, and the caller asks a real decoder.
"""

from __future__ import annotations

from _json import make_scanner
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any, NoReturn


class NotPlain(ValueError):
    """Not an ordinary JSON object: perhaps not JSON at all, perhaps JSON that needs a real decoder."""


class _Rules:
    """How the scanner reads: as RFC 8259 has it, so without NaN and without line ends in strings."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int

    @staticmethod
    def parse_constant(name: str) -> NoReturn:
        raise NotPlain(name)


_scan = make_scanner(_Rules)  # type: ignore[arg-type]  # only these attributes are looked at


def decode_object(text: str) -> dict[str, Any]:
    """The object that `text` consists of. Of equal keys the last one counts. Raises NotPlain."""
    if text[:1] != "{":
        raise NotPlain
    try:
        value, end = _scan(text, 0)
    except (StopIteration, ValueError, RecursionError, SystemError):
        # SystemError: the scanner wants to name the fault with a class of a library that is not loaded.
        raise NotPlain from None
    if text[end:].strip(" \t\r\n"):
        raise NotPlain
    return value  # type: ignore[no-any-return]
