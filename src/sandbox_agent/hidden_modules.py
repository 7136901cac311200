"""Load a module without what it would only load in case it is needed.

Several libraries cope with a Python that lacks some optional module. Shown such a Python while they are
imported, they come in half the time; afterwards the hidden modules can be imported as usual.
"""

from __future__ import annotations

import sys


class Hidden:
    def __init__(self, *names: str) -> None:
        self._names = [name for name in names if name not in sys.modules]

    def __enter__(self) -> None:
        for name in self._names:
            sys.modules[name] = None  # type: ignore[assignment]  # how Python spells "cannot be imported"

    def __exit__(self, *_: object) -> None:
        for name in self._names:
            del sys.modules[name]
