"""`before_tool` and `after_tool`: callbacks around the tool calls of an agent.

ACP lets a client decide about a tool only where the agent asks for permission. There `before_tool` is called
first and may deny. For a tool that runs without a request it is called as soon as that is known.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial

from sandbox_agent.sdk.errors import CallbackError, SandboxAgentError
from sandbox_agent.sdk.session.history.recorder import RecordedMessage
from sandbox_agent.sdk.session.permissions.callbacks import Handlers
from sandbox_agent.sdk.session.permissions.permission_request import Deny, PermissionRequest
from sandbox_agent.sdk.session.turns.turn_result import ToolUse, completed_items, tool_tree
from sandbox_agent.sdk.universal import ItemCompleted, ItemStarted, ItemUpdated, ToolCallPart, ToolLocation
from sandbox_agent.sdk.universal.meta import tool_name_of

# Some agents report a tool as running and ask for permission then; OpenCode on a busy machine 0.4 s later.
REQUEST_GRACE_S = 1.0
# How much longer a tool that was denied may wait for its request before the turn is cancelled.
DENIED_GRACE_S = 2.0
# Calls whose decision is known; ids are not used again within so many calls.
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
        self._decided: dict[str, Deny | None] = {}
        """Calls for which it was called or is about to be, with its decision."""
        self._late_requests: dict[str, asyncio.Future[bool]] = {}
        """Calls for which it was called without a request: True when that comes, False when the tool ends."""
        self._waiting: list[Callable[[], Awaitable[None]]] = []
        self._worker: asyncio.Task[None] | None = None

    def take(self, entry: RecordedMessage) -> None:
        """Take in a message of the session."""
        if self._handlers.before_tool is None and self._handlers.after_tool is None:
            return
        for event in entry.events:
            # Some agents announce a call without its input, and tell that in an update.
            if (
                isinstance(event, (ItemStarted, ItemUpdated, ItemCompleted))
                and event.item.kind == "tool_call"
            ):
                part = next((one for one in event.item.content if isinstance(one, ToolCallPart)), None)
                if part is not None and part.call_id not in self._decided:
                    self._started[part.call_id] = _running(part)
        self._tool_runs(entry)
        for use in _flat(tool_tree(completed_items(entry.events))):
            self._observe(use.call_id)
            self._settle_late(use.call_id, requested=False)
            if self._handlers.after_tool is not None:
                self._enqueue(partial(self._call_after, use))

    async def decide(self, request: PermissionRequest) -> Deny | None:
        """The decision of `before_tool` about a tool that waits for permission."""
        if self._handlers.before_tool is None:
            return None
        call_id = str(request.tool_call.get("toolCallId") or "")
        known = self._started.pop(call_id, None)
        if known is None and call_id in self._decided:
            # The request came after the grace: the decision is made once, and it still holds.
            self._settle_late(call_id, requested=True)
            await self.idle()
            return self._decided.get(call_id)
        self._remember(call_id, None)
        use = _requested(request, known)
        denied = _as_deny(await self._handlers.call(self._handlers.before_tool, use))
        self._remember(call_id, denied)
        return denied

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
            self._remember(call_id, None)
            if self._handlers.before_tool is not None:
                self._late_requests[call_id] = asyncio.get_running_loop().create_future()
                self._enqueue(partial(self._call_before, use))

    def _settle_late(self, call_id: str, *, requested: bool) -> None:
        late = self._late_requests.get(call_id)
        if late is not None and not late.done():
            late.set_result(requested)

    def _remember(self, call_id: str, decision: Deny | None) -> None:
        self._decided[call_id] = decision
        if len(self._decided) > KEPT_CALLS:
            del self._decided[next(iter(self._decided))]

    async def _call_before(self, use: ToolUse) -> None:
        callback = self._handlers.before_tool
        late = self._late_requests[use.call_id]
        try:
            if callback is None:
                return
            self._remember(use.call_id, Deny("before_tool failed"))
            denied = _as_deny(await self._handlers.call(callback, use))
            self._remember(use.call_id, denied)
            if denied is None or await self._requested_late(late):
                return
        finally:
            del self._late_requests[use.call_id]
        # Too late for this call. The turn must not go on as if the tool had been allowed.
        self._failed(CallbackError(f"before_tool denied {use.name!r}, which runs without asking"))
        await self._cancel()

    @staticmethod
    async def _requested_late(late: asyncio.Future[bool]) -> bool:
        await asyncio.wait([late], timeout=DENIED_GRACE_S)
        return late.done() and late.result()

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
                    await self._waiting.pop(0)()
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


def _requested(request: PermissionRequest, known: ToolUse | None) -> ToolUse:
    """A call as its permission request has it; `known` is what was announced before."""
    if known is None:
        # Gemini announces a call after the permission for it.
        name = tool_name_of(request.tool_call) or request.kind or request.title
        known = ToolUse("", name, request.kind, request.title, "in_progress", {}, "")
    return replace(
        known,
        call_id=str(request.tool_call.get("toolCallId") or ""),
        kind=request.kind or known.kind,
        title=request.title,
        raw_input=known.raw_input if request.raw_input is None else request.raw_input,
        locations=known.locations or [ToolLocation(path) for path in request.locations],
    )


def _flat(uses: list[ToolUse]) -> list[ToolUse]:
    return [one for use in uses for one in (*_flat(use.children), use)]
