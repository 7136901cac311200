"""Requests of the Codex app-server to the user: approvals, questions and forms of MCP servers.

The approval of an MCP tool comes as a form without fields; `_meta` says what it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from acp.schema import PermissionOption, ToolCallUpdate

from sandbox_agent.agents.adapters.codex import schema as native
from sandbox_agent.agents.adapters.common import adapter_errors
from sandbox_agent.agents.adapters.common.client_channel import ClientChannel
from sandbox_agent.agents.adapters.common.native_process import Message
from sandbox_agent.agents.adapters.common.questions import AnswerOption, Question
from sandbox_agent.agents.adapters.common.updates import Unparsed

_APPROVAL_OPTIONS = [
    PermissionOption(option_id="accept", name="Allow once", kind="allow_once"),
    PermissionOption(option_id="acceptForSession", name="Allow for this session", kind="allow_always"),
    PermissionOption(option_id="decline", name="Reject", kind="reject_once"),
]
_PERSIST = {
    "session": PermissionOption(option_id="session", name="Allow for this session", kind="allow_always"),
    "always": PermissionOption(option_id="always", name="Always allow", kind="allow_always"),
}
"""What Codex can remember of an approval of an MCP tool; it says which of them it offers."""


class CodexUserRequests:
    """Sends each request to the client and returns the result for the app-server."""

    def __init__(self, channel: ClientChannel, running_mcp_call: Callable[[str, str], str | None]) -> None:
        """`running_mcp_call` is the id of the running call of a thread to an MCP server."""
        self._channel = channel
        self._running_mcp_call = running_mcp_call

    async def answer(self, method: str, params: Message) -> Message:
        """Raises a `RequestError` for a request that is not known, after telling the client about it."""
        if method == "item/commandExecution/requestApproval":
            return await self._approve_command(params)
        if method == "item/fileChange/requestApproval":
            return await self._approve_file_change(params)
        if method == "item/permissions/requestApproval":
            return await self._grant_permissions(params)
        if method == "item/tool/requestUserInput":
            return await self._ask_questions(params)
        if method == "mcpServer/elicitation/request" and params.get("mode") == "form":
            about = params.get("_meta") or {}
            if about.get("codex_approval_kind") == "mcp_tool_call":
                return await self._approve_mcp_call(params, about)
            return await self._fill_form(params)
        unknown = Unparsed(method, params, "the adapter does not know this request")
        await self._channel.notify_unparsed(params.get("threadId"), unknown)
        raise adapter_errors.invalid_params(f"{method} is not served")

    async def _approve_command(self, params: Message) -> Message:
        command = msgspec.convert(params, native.CommandExecutionRequestApprovalParams)
        raw = {"command": command.command, "cwd": command.cwd, "reason": command.reason}
        title = command.command or command.reason or "Run a command"
        call = ToolCallUpdate(tool_call_id=command.item_id, title=title, kind="execute", raw_input=raw)
        return {"decision": await self._decision(command.thread_id, call)}

    async def _approve_file_change(self, params: Message) -> Message:
        change = msgspec.convert(params, native.FileChangeRequestApprovalParams)
        title = change.reason or "Change files"
        call = ToolCallUpdate(tool_call_id=change.item_id, title=title, kind="edit")
        return {"decision": await self._decision(change.thread_id, call)}

    async def _grant_permissions(self, params: Message) -> Message:
        request = msgspec.convert(params, native.PermissionsRequestApprovalParams)
        call = ToolCallUpdate(
            tool_call_id=request.item_id,
            title=request.reason or "Grant more permissions",
            kind="other",
            raw_input={"permissions": request.permissions},
        )
        decision = await self._decision(request.thread_id, call)
        granted = request.permissions if decision in ("accept", "acceptForSession") else {}
        return {"permissions": granted, "scope": "session" if decision == "acceptForSession" else "turn"}

    async def _approve_mcp_call(self, params: Message, about: dict[str, Any]) -> Message:
        request = msgspec.convert(params, native.McpServerElicitationRequestParams)
        offered = [_PERSIST[scope] for scope in about.get("persist") or () if scope in _PERSIST]
        call_id = self._running_mcp_call(request.thread_id, request.server_name)
        call = ToolCallUpdate(
            tool_call_id=call_id or f"mcp-{request.server_name}",
            title=None if call_id else params.get("message"),
            kind="other",
            raw_input=about.get("tool_params"),
        )
        options = [_APPROVAL_OPTIONS[0], *offered, _APPROVAL_OPTIONS[-1]]
        decision = await self._channel.request_permission(request.thread_id, call, options) or "cancel"
        if decision in _PERSIST:
            return {"action": "accept", "content": {}, "_meta": {"persist": decision}}
        return {"action": decision, "content": {} if decision == "accept" else None}

    async def _fill_form(self, params: Message) -> Message:
        request = msgspec.convert(params, native.McpServerElicitationRequestParams)
        message = str(params.get("message") or request.server_name)
        return await self._channel.fill_form(request.thread_id, message, params["requestedSchema"])

    async def _decision(self, thread_id: str, call: ToolCallUpdate) -> str:
        return await self._channel.request_permission(thread_id, call, _APPROVAL_OPTIONS) or "cancel"

    async def _ask_questions(self, params: Message) -> Message:
        request = msgspec.convert(params, native.ToolRequestUserInputParams)
        questions = [
            Question(
                text=question.question,
                header=question.header,
                options=tuple(
                    AnswerOption(option.label, option.description) for option in question.options or ()
                ),
                custom=bool(question.is_other),
            )
            for question in request.questions
        ]
        answers = await self._channel.ask_questions(request.thread_id, questions, request.item_id)
        if answers is None:
            return {"answers": {}}
        pairs = zip(request.questions, answers, strict=True)
        return {"answers": {question.id: {"answers": chosen} for question, chosen in pairs}}
