"""Requests of Claude to the user within one turn: permissions, questions, approval of a plan.

A tool call for which Claude requests permission is answered with a control response: `allow` with the
(updated) input, or `deny`. A question or plan without a permission request is sent to the user as well and
answered with a tool result; a rejected one has `is_error: true`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec
from acp import RequestError
from acp.schema import PermissionOption, ToolCallUpdate

from sandbox_agent.agents.adapters.claude.claude_converter import read_permission, tool_results, tool_uses
from sandbox_agent.agents.adapters.common import adapter_errors, stream_json, updates
from sandbox_agent.agents.adapters.common.client_channel import ClientChannel
from sandbox_agent.agents.adapters.common.native_agent import NativeSession
from sandbox_agent.agents.adapters.common.native_process import Message
from sandbox_agent.agents.adapters.common.questions import AnswerOption, Question
from sandbox_agent.agents.adapters.common.updates import Unparsed

PERMISSION_DELAY_S = 1.0
"""How long after a call its permission request may arrive; current versions of Claude take milliseconds."""
_ALLOW = PermissionOption(option_id="allow", name="Allow once", kind="allow_once")
_ALWAYS = PermissionOption(option_id="always", name="Always allow", kind="allow_always")
_REJECT = PermissionOption(option_id="reject", name="Reject", kind="reject_once")
_PLAN_OPTIONS = [
    PermissionOption(option_id="default", name="Yes, and ask before edits", kind="allow_once"),
    PermissionOption(option_id="acceptEdits", name="Yes, and accept edits", kind="allow_always"),
    PermissionOption(option_id="reject", name="No, keep planning", kind="reject_once"),
]


@dataclass(frozen=True)
class PendingToolCall:
    """A tool call that waits for the user."""

    id: str
    tool: str
    input: Message
    suggestions: list[Any] = field(default_factory=list)
    """Permissions that would make further requests of this kind unnecessary."""

    def update(self) -> ToolCallUpdate:
        return ToolCallUpdate(
            tool_call_id=self.id,
            title=stream_json.title_of(self.tool, self.input),
            kind=stream_json.kind_of(self.tool),
            raw_input=self.input,
            content=stream_json.content_of(self.input) or None,
        )


@dataclass(frozen=True)
class UserDecision:
    """The user's answer; `text` tells the model about it where the decision itself is not transmitted."""

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


class ClaudeUserRequests:
    """One per turn; `send` writes a line to Claude, `close` cancels the open requests."""

    def __init__(
        self, channel: ClientChannel, session: NativeSession, send: Callable[[Message], None]
    ) -> None:
        self._channel, self._session, self._send = channel, session, send
        self._control_requests: dict[str, asyncio.Task[None]] = {}
        """Control requests that wait for the user, by request id."""
        self._decisions: dict[str, asyncio.Task[UserDecision]] = {}
        """By tool call: the user is asked once, whichever way the answer is returned."""
        self._without_request: dict[str, asyncio.Task[None]] = {}
        """Calls for which no permission request has arrived so far."""

    def handle(self, message: Message) -> None:
        """Start or cancel requests to the user, as a line of Claude demands."""
        kind = message.get("type")
        if kind == "assistant":
            for use in tool_uses(message):
                if use.name in ("AskUserQuestion", "ExitPlanMode") and use.id not in self._decisions:
                    arguments = use.input if isinstance(use.input, dict) else {}
                    call = PendingToolCall(use.id, use.name, arguments)
                    self._without_request[use.id] = asyncio.create_task(self._answer_with_result(call))
        elif kind == "user":
            for result in tool_results(message):
                self._cancel_result(result.tool_use_id)
        elif kind == "control_request":
            request_id = str(message.get("request_id"))
            task = asyncio.create_task(self._answer_control_request(message))
            self._control_requests[request_id] = task
            task.add_done_callback(lambda _: self._control_requests.pop(request_id, None))
        elif kind == "control_cancel_request":
            # Claude needs no answer any more, as after an interrupt.
            if pending := self._control_requests.get(str(message.get("request_id"))):
                pending.cancel()

    def close(self) -> None:
        tasks = (self._control_requests, self._without_request, self._decisions)
        for task in [task for group in tasks for task in group.values()]:
            task.cancel()

    def _cancel_result(self, call_id: str) -> None:
        """The call is answered by a control response or by Claude itself: send no tool result."""
        if waiting := self._without_request.pop(call_id, None):
            waiting.cancel()

    async def _answer_with_result(self, call: PendingToolCall) -> None:
        await asyncio.sleep(PERMISSION_DELAY_S)
        decision = await asyncio.shield(self._decision(call))
        self._without_request.pop(call.id, None)
        if not decision.interrupt:
            self._send(decision.tool_result(call.id))

    async def _answer_control_request(self, message: Message) -> None:
        request = message.get("request") or {}
        response: Message = {"subtype": "success", "request_id": message.get("request_id")}
        try:
            if request.get("subtype") != "can_use_tool":
                raise adapter_errors.invalid_params(f"{request.get('subtype')} is not served")
            permission = read_permission(request)
            self._cancel_result(permission.tool_use_id)
            suggestions = permission.permission_suggestions or []
            call = PendingToolCall(
                permission.tool_use_id, permission.tool_name, permission.input, suggestions
            )
            response["response"] = (await self._decision(call)).control_response()
        except (RequestError, msgspec.ValidationError) as error:
            await self._channel.notify_unparsed(
                self._session.id, Unparsed("control_request", message, str(error))
            )
            response |= {"subtype": "error", "error": str(error)}
        self._send({"type": "control_response", "response": response})

    def _decision(self, call: PendingToolCall) -> asyncio.Task[UserDecision]:
        if call.id not in self._decisions:
            handlers = {"AskUserQuestion": self._ask_questions, "ExitPlanMode": self._approve_plan}
            ask = handlers.get(call.tool, self._approve_tool)
            self._decisions[call.id] = asyncio.create_task(ask(call))
        return self._decisions[call.id]

    async def _approve_tool(self, call: PendingToolCall) -> UserDecision:
        options = [_ALLOW, _ALWAYS, _REJECT] if call.suggestions else [_ALLOW, _REJECT]
        answer = await self._channel.request_permission_or_change(self._session.id, call.update(), options)
        if answer is None or answer.option_id not in ("allow", "always"):
            text = "The user refused permission to run this tool."
            return UserDecision(False, text, interrupt=answer is None)
        granted = call.suggestions if answer.option_id == "always" else []
        if answer.changed_input is not None:
            call = replace(call, input=answer.changed_input)
            # Claude reports only the input that the model has written.
            await self._channel.send_updates(self._session.id, [updates.tool_progress(call.update())])
        return UserDecision(True, "Allowed.", call.input, granted)

    async def _approve_plan(self, call: PendingToolCall) -> UserDecision:
        shown = call.update()
        if isinstance(plan := call.input.get("plan"), str):
            shown.content = [updates.text_content(plan)]
        chosen = await self._channel.request_permission(self._session.id, shown, _PLAN_OPTIONS)
        if chosen not in ("default", "acceptEdits"):
            return UserDecision(False, "The user did not approve the plan.", interrupt=chosen is None)
        config = self._session.config
        config["mode"].select(chosen)
        await self._channel.send_updates(self._session.id, [updates.mode_update(chosen), config.update()])
        new_mode = [{"type": "setMode", "mode": chosen, "destination": "session"}]
        return UserDecision(True, "The user approved the plan.", call.input, new_mode)

    async def _ask_questions(self, call: PendingToolCall) -> UserDecision:
        asked = [question for question in call.input.get("questions") or [] if isinstance(question, dict)]
        questions = [_question(question) for question in asked]
        answers = await self._channel.ask_questions(self._session.id, questions, call.id)
        if answers is None:
            return UserDecision(False, "The user did not answer the questions.")
        pairs = zip(questions, answers, strict=True)
        chosen = {question.text: ", ".join(labels) for question, labels in pairs}
        text = "\n".join(f"{question} {labels}" for question, labels in chosen.items())
        return UserDecision(True, text, call.input | {"answers": chosen})


def _question(question: Mapping[str, Any]) -> Question:
    options = [option for option in question.get("options") or [] if isinstance(option, dict)]
    return Question(
        text=str(question.get("question")),
        header=str(question.get("header") or ""),
        options=tuple(AnswerOption(str(o.get("label")), str(o.get("description") or "")) for o in options),
        multiple=bool(question.get("multiSelect")),
    )
