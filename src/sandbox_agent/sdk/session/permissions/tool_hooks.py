"""`before_tool` and `after_tool`: callbacks around the tool calls of an agent.

ACP lets a client decide about a tool only where the agent asks for permission. There `before_tool` is called
first and may deny. For a tool that runs without a request it is called as soon as that is known.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from functools import partial

from sandbox_agent.sdk.errors import CallbackError, SandboxAgentError
from sandbox_agent.sdk.session.history.recorder import RecordedMessage
from sandbox_agent.sdk.session.permissions.callbacks import Handlers
from sandbox_agent.sdk.session.permissions.permission_request import Deny, PermissionRequest
from sandbox_agent.sdk.session.turns.turn_result import ToolUse, completed_items, tool_tree
from sandbox_agent.sdk.universal import ItemStarted, ToolCallPart

# Some agents report a tool as running and ask for permission then.
REQUEST_GRACE_S = 0.3
# Calls whose hooks were called; ids are not used again within so many calls.
KEPT_CALLS = 1000


class ToolHooks:
    """Calls the hooks of one session, one after the other, in the order of the events."""

    def __init__(
        self,
        handlers: Handlers,
        *,
        failed: Callable[[SandboxAgentError], None],
        cancel: Callable[[], Awaitable[None]],
    ) -> None:
        self._handlers = handlers
        self._failed = failed
        self._cancel = cancel
        self._started: dict[str, ToolUse] = {}
        """Calls for which `before_tool` was not called yet."""
        self._seen: deque[str] = deque(maxlen=KEPT_CALLS)
        self._waiting: deque[Callable[[], Awaitable[None]]] = deque()
        self._worker: asyncio.Task[None] | None = None

    def take(self, entry: RecordedMessage) -> None:
        """Take in a message of the session."""
        if self._handlers.before_tool is None and self._handlers.after_tool is None:
            return
        for event in entry.events:
            if isinstance(event, ItemStarted) and event.item.kind == "tool_call":
                part = next((one for one in event.item.content if isinstance(one, ToolCallPart)), None)
                if part is not None and part.call_id not in self._seen:
                    self._started[part.call_id] = _running(part)
        self._tool_runs(entry)
        for use in _flat(tool_tree(completed_items(entry.events))):
            self._observe(use.call_id)
            if self._handlers.after_tool is not None:
                self._enqueue(partial(self._call_after, use))

    async def decide(self, request: PermissionRequest) -> Deny | None:
        """The decision of `before_tool` about a tool that waits for permission."""
        if self._handlers.before_tool is None:
            return None
        call_id = str(request.tool_call.get("toolCallId") or "")
        known = self._started.pop(call_id, None)
        if known is None and call_id in self._seen:
            return None
        self._seen.append(call_id)
        use = ToolUse(
            call_id=call_id,
            name=known.name if known is not None else request.title,
            kind=request.kind or (known.kind if known is not None else None),
            title=request.title,
            status="in_progress",
            raw_input=request.raw_input if request.raw_input is not None else known and known.raw_input,
            output="",
            locations=known.locations if known is not None else [],
        )
        return _as_deny(await self._handlers.call(self._handlers.before_tool, use))

    async def idle(self) -> None:
        """Wait until the hooks of all events so far have returned."""
        while self._worker is not None and self._worker is not asyncio.current_task():
            await asyncio.wait([self._worker])

    async def close(self) -> None:
        """Call no further hooks."""
        self._waiting.clear()
        self._started.clear()
        if self._worker is not None and self._worker is not asyncio.current_task():
            self._worker.cancel()
            await asyncio.wait([self._worker])

    def _tool_runs(self, entry: RecordedMessage) -> None:
        """Call `before_tool` for a tool that runs, unless the agent asks for permission in a moment."""
        update = (entry.envelope.get("params") or {}).get("update") if entry.sender == "agent" else None
        if not isinstance(update, dict) or update.get("status") != "in_progress":
            return
        call_id = str(update.get("toolCallId") or "")
        if call_id in self._started:
            asyncio.get_running_loop().call_later(REQUEST_GRACE_S, self._observe, call_id)

    def _observe(self, call_id: str) -> None:
        use = self._started.pop(call_id, None)
        if use is not None:
            self._seen.append(call_id)
            if self._handlers.before_tool is not None:
                self._enqueue(partial(self._call_before, use))

    async def _call_before(self, use: ToolUse) -> None:
        callback = self._handlers.before_tool
        if callback is None or _as_deny(await self._handlers.call(callback, use)) is None:
            return
        # Too late for this call. The turn must not go on as if the tool had been allowed.
        self._failed(CallbackError(f"before_tool denied {use.name!r}, which runs without asking"))
        await self._cancel()

    async def _call_after(self, use: ToolUse) -> None:
        callback = self._handlers.after_tool
        if callback is not None:
            await self._handlers.call(callback, use)

    def _enqueue(self, work: Callable[[], Awaitable[None]]) -> None:
        self._waiting.append(work)
        if self._worker is None:
            self._worker = asyncio.create_task(self._run(), name="tool hooks")

    async def _run(self) -> None:
        try:
            while self._waiting:
                try:
                    await self._waiting.popleft()()
                except SandboxAgentError as error:
                    self._failed(error)
                except Exception as error:
                    failure = CallbackError(f"a hook of a tool failed: {error!r}")
                    failure.__cause__ = error
                    self._failed(failure)
        finally:
            self._worker = None


def _as_deny(decision: object) -> Deny | None:
    if decision is None or isinstance(decision, Deny):
        return decision
    if decision == "reject":
        return Deny("")
    raise CallbackError(f"before_tool returns None, Deny(...) or 'reject', not {decision!r}")


def _running(part: ToolCallPart) -> ToolUse:
    return ToolUse(
        call_id=part.call_id,
        name=part.name,
        kind=part.kind,
        title=part.title,
        status="in_progress",
        raw_input=part.raw_input,
        output="",
        locations=part.locations,
    )


def _flat(uses: list[ToolUse]) -> list[ToolUse]:
    return [one for use in uses for one in (*_flat(use.children), use)]
