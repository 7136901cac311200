"""`functools.cached_property` without the module around it, for what every server start loads."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from functools import cached_property as made_once
else:

    class made_once:
        def __init__(self, make):
            self._make = make
            self._name = make.__name__

        def __get__(self, instance, owner=None):
            # From now on found in the instance itself, without asking here.
            made = instance.__dict__[self._name] = self._make(instance)
            return made


__all__ = ["made_once"]
