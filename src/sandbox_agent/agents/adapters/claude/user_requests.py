"""What Claude wants to know of its user within one turn: permissions, questions, approval of a plan.

A call of a tool that Claude asks permission for is answered with a control response: `allow` with the
(updated) input, or `deny`. A question or plan for which no permission is asked is put to the user as well
and answered with a tool result, a rejected one with `is_error: true`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec
from acp import RequestError
from acp.schema import PermissionOption, ToolCallUpdate

from sandbox_agent.agents.adapters.claude.events import read_permission, tool_results, tool_uses
from sandbox_agent.agents.adapters.common import adapter_errors, stream_json, updates
from sandbox_agent.agents.adapters.common.client_channel import ClientChannel
from sandbox_agent.agents.adapters.common.native_agent import Session
from sandbox_agent.agents.adapters.common.native_process import Message
from sandbox_agent.agents.adapters.common.questions import Choice, Question
from sandbox_agent.agents.adapters.common.updates import Unparsed

LINK_WITHIN_S = 1.0
"""How long after a call its permission request may come; today's Claude takes milliseconds."""
_ALLOW = PermissionOption(option_id="allow", name="Allow once", kind="allow_once")
_ALWAYS = PermissionOption(option_id="always", name="Always allow", kind="allow_always")
_REJECT = PermissionOption(option_id="reject", name="Reject", kind="reject_once")
_PLAN_OPTIONS = [
    PermissionOption(option_id="default", name="Yes, and ask before edits", kind="allow_once"),
    PermissionOption(option_id="acceptEdits", name="Yes, and accept edits", kind="allow_always"),
    PermissionOption(option_id="reject", name="No, keep planning", kind="reject_once"),
]


@dataclass(frozen=True)
class Call:
    """A call of a tool that waits for the user."""

    id: str
    tool: str
    input: Message
    suggestions: list[Any] = field(default_factory=list)
    """Permissions that would make Claude ask no more."""

    def update(self) -> ToolCallUpdate:
        return ToolCallUpdate(
            tool_call_id=self.id,
            title=stream_json.title_of(self.tool, self.input),
            kind=stream_json.kind_of(self.tool),
            raw_input=self.input,
            content=stream_json.content_of(self.tool, self.input) or None,
        )


@dataclass(frozen=True)
class Decision:
    """What the user wants; `text` is said to the model where the decision itself is not seen."""

    allowed: bool
    text: str
    input: Message = field(default_factory=dict)
    permissions: list[Any] = field(default_factory=list)
    interrupt: bool = False

    def control_response(self) -> Message:
        if not self.allowed:
            return {"behavior": "deny", "message": self.text, "interrupt": self.interrupt}
        granted = {"updatedPermissions": self.permissions} if self.permissions else {}
        return {"behavior": "allow", "updatedInput": self.input, **granted}

    def tool_result(self, call_id: str) -> Message:
        block: Message = {"type": "tool_result", "tool_use_id": call_id, "content": self.text}
        if not self.allowed:
            block["is_error"] = True
        message = {"role": "user", "content": [block]}
        return {"type": "user", "session_id": "", "parent_tool_use_id": None, "message": message}


class ClaudeRequests:
    """One per turn; `send` writes a line to Claude. `close` withdraws what is still open."""

    def __init__(self, desk: ClientChannel, session: Session, send: Callable[[Message], None]) -> None:
        self._desk, self._session, self._send = desk, session, send
        self._by_number: dict[str, asyncio.Task[None]] = {}
        """Control requests that wait for the user."""
        self._decisions: dict[str, asyncio.Task[Decision]] = {}
        """By call: the user is asked once, however the answer goes back."""
        self._unlinked: dict[str, asyncio.Task[None]] = {}
        """Calls for which no permission has been asked so far."""

    def heard(self, message: Message) -> None:
        """Look at a line of Claude for something to ask, or something that needs no answer any more."""
        kind = message.get("type")
        if kind == "assistant":
            for use in tool_uses(message):
                if use.name in ("AskUserQuestion", "ExitPlanMode") and use.id not in self._decisions:
                    arguments = use.input if isinstance(use.input, dict) else {}
                    task = asyncio.create_task(self._without_permission(Call(use.id, use.name, arguments)))
                    self._unlinked[use.id] = task
        elif kind == "user":
            for result in tool_results(message):
                self._link(result.tool_use_id)
        elif kind == "control_request":
            number = str(message.get("request_id"))
            task = self._by_number[number] = asyncio.create_task(self._with_permission(message))
            task.add_done_callback(lambda _: self._by_number.pop(number, None))
        elif kind == "control_cancel_request":
            # Claude no longer wants to know, as after an interrupt.
            if asking := self._by_number.get(str(message.get("request_id"))):
                asking.cancel()

    def close(self) -> None:
        for task in [*self._by_number.values(), *self._unlinked.values(), *self._decisions.values()]:
            task.cancel()

    def _link(self, call_id: str) -> None:
        """The call is answered in another way than by a tool result of ours."""
        if waiting := self._unlinked.pop(call_id, None):
            waiting.cancel()

    async def _without_permission(self, call: Call) -> None:
        await asyncio.sleep(LINK_WITHIN_S)
        decision = await asyncio.shield(self._decision(call))
        self._unlinked.pop(call.id, None)
        if not decision.interrupt:
            self._send(decision.tool_result(call.id))

    async def _with_permission(self, message: Message) -> None:
        request = message.get("request") or {}
        response: Message = {"subtype": "success", "request_id": message.get("request_id")}
        try:
            if request.get("subtype") != "can_use_tool":
                raise adapter_errors.invalid(f"{request.get('subtype')} is not served")
            asked = read_permission(request)
            self._link(asked.tool_use_id)
            suggestions = asked.permission_suggestions or []
            call = Call(asked.tool_use_id, asked.tool_name, asked.input, suggestions)
            response["response"] = (await self._decision(call)).control_response()
        except (RequestError, msgspec.ValidationError) as error:
            await self._desk.unparsed(self._session.id, Unparsed("control_request", message, str(error)))
            response |= {"subtype": "error", "error": str(error)}
        self._send({"type": "control_response", "response": response})

    def _decision(self, call: Call) -> asyncio.Task[Decision]:
        if call.id not in self._decisions:
            ask = {"AskUserQuestion": self._questions, "ExitPlanMode": self._plan}.get(call.tool, self._tool)
            self._decisions[call.id] = asyncio.create_task(ask(call))
        return self._decisions[call.id]

    async def _tool(self, call: Call) -> Decision:
        options = [_ALLOW, _ALWAYS, _REJECT] if call.suggestions else [_ALLOW, _REJECT]
        chosen = await self._desk.permission(self._session.id, call.update(), options)
        if chosen in ("allow", "always"):
            granted = call.suggestions if chosen == "always" else []
            return Decision(True, "Allowed.", call.input, granted)
        refused = "The user refused permission to run this tool."
        return Decision(False, refused, interrupt=chosen is None)

    async def _plan(self, call: Call) -> Decision:
        shown = call.update()
        if isinstance(plan := call.input.get("plan"), str):
            shown.content = [updates.text_content(plan)]
        chosen = await self._desk.permission(self._session.id, shown, _PLAN_OPTIONS)
        if chosen not in ("default", "acceptEdits"):
            return Decision(False, "The user did not approve the plan.", interrupt=chosen is None)
        settings = self._session.settings
        settings["mode"].choose(chosen)
        await self._desk.send(self._session.id, [updates.mode(chosen), settings.update()])
        new_mode = [{"type": "setMode", "mode": chosen, "destination": "session"}]
        return Decision(True, "The user approved the plan.", call.input, new_mode)

    async def _questions(self, call: Call) -> Decision:
        asked = [question for question in call.input.get("questions") or [] if isinstance(question, dict)]
        put = [_question(question) for question in asked]
        answers = await self._desk.questions(self._session.id, put, call.id)
        if answers is None:
            return Decision(False, "The user did not answer the questions.")
        chosen = {question.text: ", ".join(labels) for question, labels in zip(put, answers, strict=True)}
        text = "\n".join(f"{question} {labels}" for question, labels in chosen.items())
        return Decision(True, text, call.input | {"answers": chosen})


def _question(question: Mapping[str, Any]) -> Question:
    options = [option for option in question.get("options") or [] if isinstance(option, dict)]
    return Question(
        text=str(question.get("question")),
        header=str(question.get("header") or ""),
        choices=tuple(Choice(str(o.get("label")), str(o.get("description") or "")) for o in options),
        multiple=bool(question.get("multiSelect")),
    )
