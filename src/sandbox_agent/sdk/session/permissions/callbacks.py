"""The callbacks of a session and how they are called."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

from sandbox_agent.sdk.session.permissions.permission_request import Deny, OnPermission
from sandbox_agent.sdk.session.permissions.question import OnQuestion
from sandbox_agent.sdk.session.turns.turn_result import ToolUse
from sandbox_agent.sdk.tools.tool import ToolFunction

BeforeTool = Callable[[ToolUse], Deny | str | Awaitable[Deny | str | None] | None]
AfterTool = Callable[[ToolUse], Awaitable[None] | None]


class LiveOptions(TypedDict, total=False):
    """Options of an open session that are not stored: callbacks, tools, variables, limits, raw events.

    Where a callback is absent, that of the client is used.
    """

    on_permission: OnPermission | None
    on_question: OnQuestion | None
    permission_timeout: float | None
    before_tool: BeforeTool | None
    """Called before a tool runs; returns None, or `Deny(...)` where the agent asks for permission."""
    after_tool: AfterTool | None
    """Called with every tool call that has ended."""
    tools: Sequence[ToolFunction]
    """Functions of this program that the agent can call, as `@tool` makes them."""
    env: Mapping[str, str] | None
    """Variables for the agent process. They are not stored, so `resume` needs them again."""
    max_cost: float | None
    """The most that the session may cost, in the currency that the agent reports."""
    max_turns: int | None
    """The most answers of the model in one prompt; each round of tool calls needs another one."""
    include_raw: bool
    """Give every event its ACP message in `raw`; for a session that is open already it stays as it was."""


@dataclass(slots=True)
class Handlers:
    """The callbacks that answer requests, and how they are run."""

    on_permission: OnPermission | None = None
    on_question: OnQuestion | None = None
    permission_timeout: float | None = None
    sync_in_threads: bool = False
    """Run callbacks that are not async in a thread, because they may block."""
    before_tool: BeforeTool | None = None
    after_tool: AfterTool | None = None

    def update(self, options: LiveOptions) -> None:
        """Take over the callbacks that are given."""
        for name in ("on_permission", "on_question", "permission_timeout", "before_tool", "after_tool"):
            value = options.get(name)
            if value is not None:
                setattr(self, name, value)

    async def call(self, callback: Callable[[Any], Any], argument: Any) -> Any:
        """Call a plain or async callback."""
        if self.sync_in_threads and not inspect.iscoroutinefunction(callback):
            result = await asyncio.to_thread(callback, argument)
        else:
            result = callback(argument)
        return await result if inspect.isawaitable(result) else result
