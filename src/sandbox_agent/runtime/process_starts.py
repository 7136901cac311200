"""Starts of processes that must not overlap.

A process inherits the limits of the server when it starts. While the server has a limit that is meant for one
process (`bridge.process.tree.inherited_tag`), no other thread may start another one.
"""

from __future__ import annotations

import threading

start_lock = threading.Lock()
"""Held while a process is started, by threads other than that of the event loop always."""
