"""Imported by the interpreter of a server under test: lists its tasks and moves its wall clock.

At SIGUSR2 the clock jumps to the number of seconds ahead that stands in SANDBOX_AGENT_TEST_HOOKS/clock, if
the file is there, and what every task of the event loop runs is written to `tasks` beside it, as a JSON list.
The product itself has no such code.
"""

import os
import signal
import sys
import time

_place = os.environ.get("SANDBOX_AGENT_TEST_HOOKS")
_time, _time_ns = time.time, time.time_ns
_ahead_s = 0


def _look(_number: int, _frame: object) -> None:
    global _ahead_s
    try:
        with open(f"{_place}/clock") as file:
            _ahead_s = int(file.read())
    except FileNotFoundError:
        pass
    # A server that has not needed asyncio yet has no tasks, and this must not load it.
    asyncio = sys.modules.get("asyncio")
    try:
        told = [task.get_coro().__qualname__ for task in asyncio.all_tasks()] if asyncio else []
    except (AttributeError, RuntimeError):
        told = []  # asyncio is just being loaded: nothing runs in it yet
    with open(f"{_place}/tasks.new", "w") as file:
        # JSON by hand: the server may be in the middle of importing the module.
        file.write("[" + ",".join(f'"{name}"' for name in sorted(told)) + "]")
    os.replace(f"{_place}/tasks.new", f"{_place}/tasks")


if _place:
    signal.signal(signal.SIGUSR2, _look)
    time.time = lambda: _time() + _ahead_s
    time.time_ns = lambda: _time_ns() + _ahead_s * 1_000_000_000
