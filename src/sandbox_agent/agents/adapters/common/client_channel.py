"""Messages to the client: updates, permission requests, questions and events that were not understood.

Requests to the user belong to a session. `cancel_requests` cancels the open ones, as `session/cancel`
requires; their callers get None.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from acp import RequestError
from acp.interfaces import Client
from acp.schema import (
    AllowedOutcome,
    ClientCapabilities,
    ElicitationFormSessionMode,
    ElicitationSchema,
    PermissionOption,
    ToolCallUpdate,
)

from sandbox_agent.agents.adapters.common.questions import Question, ask_by_extension, ask_by_form
from sandbox_agent.agents.adapters.common.updates import (
    Unparsed,
    Update,
    legacy_event,
    meta,
    with_legacy_event,
)

_Answer = TypeVar("_Answer")


@dataclass(frozen=True)
class PermissionAnswer:
    """The user's answer to a permission request."""

    option_id: str
    changed_input: dict[str, Any] | None
    """The input that the tool is to run with, if the user has changed it."""


class ClientChannel:
    """One per connection."""

    def __init__(self) -> None:
        self._client: Client | None = None
        self._capabilities = ClientCapabilities()
        self._open: dict[str, set[asyncio.Task[Any]]] = {}

    def connect(self, client: Client) -> None:
        self._client = client

    def set_capabilities(self, capabilities: ClientCapabilities | None) -> None:
        self._capabilities = capabilities or ClientCapabilities()

    @property
    def client(self) -> Client:
        if self._client is None:
            raise RuntimeError("no client is connected")
        return self._client

    async def send_updates(self, session_id: str, output: Sequence[Update | Unparsed]) -> None:
        for item in output:
            if isinstance(item, Unparsed):
                await self.notify_unparsed(session_id, item)
            else:
                await self.client.session_update(session_id, with_legacy_event(item, session_id))

    async def notify_unparsed(self, session_id: str | None, item: Unparsed) -> None:
        """Send an event that the adapter did not understand, with the event itself in `_meta`."""
        text = item.raw if isinstance(item.raw, str) else json.dumps(item.raw, sort_keys=True)
        payload: dict[str, Any] = {
            "error": item.error,
            "location": item.location,
            "raw_hash": hashlib.sha256(text.encode()).hexdigest(),
            "_meta": meta(raw=item.raw),
        }
        if session_id is not None:
            payload["sessionId"] = session_id
        await self.client.ext_notification("sandboxagent/agent/unparsed", payload)

    async def notify_session_ended(self, session_id: str) -> None:
        """Tell the client that a session it has closed has ended."""
        ending = {"reason": "terminated", "terminated_by": "daemon"}
        carried = {"_meta": meta(legacyEvent=legacy_event(session_id))}
        await self.client.ext_notification(
            "sandboxagent/session/ended", {"sessionId": session_id, **ending, **carried}
        )

    async def request_permission(
        self, session_id: str, tool_call: ToolCallUpdate, options: list[PermissionOption]
    ) -> str | None:
        """The id of the chosen option; None if the request was cancelled or the client cannot answer it."""
        answer = await self.request_permission_or_change(session_id, tool_call, options)
        return None if answer is None else answer.option_id

    async def request_permission_or_change(
        self, session_id: str, tool_call: ToolCallUpdate, options: list[PermissionOption]
    ) -> PermissionAnswer | None:
        """The same with the input of the tool, which the client may have changed."""

        async def request() -> PermissionAnswer | None:
            try:
                response = await self.client.request_permission(session_id, tool_call, options)
            except RequestError:
                return None
            if not isinstance(response.outcome, AllowedOutcome):
                return None
            given = (response.field_meta or {}).get("sandboxagent.dev")
            changed = given.get("updatedInput") if isinstance(given, dict) else None
            return PermissionAnswer(
                response.outcome.option_id, changed if isinstance(changed, dict) else None
            )

        return await self._run_cancellable(session_id, request())

    async def ask_questions(
        self, session_id: str, questions: Sequence[Question], tool_call_id: str | None
    ) -> list[list[str]] | None:
        """The chosen labels, one list per question; None if rejected or cancelled."""
        ask = ask_by_form if self._has_forms else ask_by_extension
        return await self._run_cancellable(session_id, ask(self.client, session_id, questions, tool_call_id))

    async def fill_form(self, session_id: str, message: str, schema: dict[str, Any]) -> dict[str, Any]:
        """The client's answer to a form of an MCP server; a client without forms declines it."""
        if not self._has_forms:
            return {"action": "decline", "content": None}
        form = ElicitationFormSessionMode(
            session_id=session_id, requested_schema=ElicitationSchema.model_validate(schema)
        )

        async def request() -> dict[str, Any]:
            try:
                answer = await self.client.create_elicitation(message, form)
            except RequestError:
                return {"action": "decline", "content": None}
            return {"action": answer.action, "content": getattr(answer, "content", None)}

        filled = await self._run_cancellable(session_id, request())
        return filled or {"action": "cancel", "content": None}

    @property
    def _has_forms(self) -> bool:
        elicitation = self._capabilities.elicitation
        return elicitation is not None and elicitation.form is not None

    def cancel_requests(self, session_id: str) -> None:
        for task in self._open.get(session_id, ()):
            task.cancel()

    def has_open_requests(self, session_id: str) -> bool:
        return bool(self._open.get(session_id))

    async def _run_cancellable(
        self, session_id: str, work: Coroutine[Any, Any, _Answer | None]
    ) -> _Answer | None:
        """The result of `work`; None if `cancel_requests` cancelled it."""
        task = asyncio.create_task(work)
        open_tasks = self._open.setdefault(session_id, set())
        open_tasks.add(task)
        try:
            await asyncio.wait([task])
        finally:
            task.cancel()
            open_tasks.discard(task)
            if not open_tasks:
                self._open.pop(session_id, None)
        return None if task.cancelled() else task.result()
