"""The callbacks of a session and how they are called."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sandbox_agent.sdk.session.permissions.permission_request import OnPermission
from sandbox_agent.sdk.session.permissions.question import OnQuestion


@dataclass(slots=True)
class Handlers:
    """The callbacks that answer requests, and how they are run."""

    on_permission: OnPermission | None = None
    on_question: OnQuestion | None = None
    permission_timeout: float | None = None
    sync_in_threads: bool = False
    """Run callbacks that are not async in a thread, because they may block."""

    async def call(self, callback: Callable[[Any], Any], argument: Any) -> Any:
        """Call a plain or async callback."""
        if self.sync_in_threads and not inspect.iscoroutinefunction(callback):
            result = await asyncio.to_thread(callback, argument)
        else:
            result = callback(argument)
        return await result if inspect.isawaitable(result) else result
