"""Parts of the standard library without the modules around them, which take long to load.

The names mean what they mean in `collections` and `signal`, but for signals being plain numbers.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from collections import OrderedDict, deque
else:
    import _signal as signal
    from _collections import OrderedDict, deque

__all__ = ["OrderedDict", "deque", "signal"]
