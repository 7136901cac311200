"""Requests of OpenCode to the user: permissions and questions are events, their answers HTTP requests."""

from __future__ import annotations

import msgspec
from acp import RequestError
from acp.schema import PermissionOption, ToolCallUpdate

from sandbox_agent.agents.adapters.common import adapter_errors
from sandbox_agent.agents.adapters.common.client_channel import ClientChannel
from sandbox_agent.agents.adapters.common.native_agent import NativeSession
from sandbox_agent.agents.adapters.common.native_process import Message
from sandbox_agent.agents.adapters.common.questions import AnswerOption, Question
from sandbox_agent.agents.adapters.common.updates import Unparsed
from sandbox_agent.agents.adapters.opencode import schema as native
from sandbox_agent.agents.adapters.opencode.opencode_server import OpenCodeServer

EVENTS = ("permission.asked", "question.asked")
_REPLIES = [
    PermissionOption(option_id="once", name="Allow once", kind="allow_once"),
    PermissionOption(option_id="always", name="Always allow", kind="allow_always"),
    PermissionOption(option_id="reject", name="Reject", kind="reject_once"),
]


class OpenCodeUserRequests:
    def __init__(self, channel: ClientChannel, server: OpenCodeServer) -> None:
        self._channel, self._server = channel, server

    async def answer(self, session: NativeSession, event: Message) -> None:
        """Send one of `EVENTS` to the client and its answer to OpenCode."""
        kind, properties = event["type"], event["properties"]
        try:
            if kind == "permission.asked":
                await self._permission(session, msgspec.convert(properties, native.PermissionRequest))
            else:
                await self._question(session, msgspec.convert(properties, native.QuestionRequest))
        except (RequestError, msgspec.ValidationError) as error:
            await self._channel.notify_unparsed(session.id, Unparsed(kind, event, str(error)))
            if session.turn is not None:
                # OpenCode would wait for the answer forever.
                session.turn.fail(
                    adapter_errors.turn_failed("opencode", f"{kind} cannot be answered: {error}", event)
                )

    async def _permission(self, session: NativeSession, request: native.PermissionRequest) -> None:
        call_id = (request.tool or {}).get("callID") or request.id
        command = request.metadata.get("command") or request.metadata.get("filepath")
        call = ToolCallUpdate(
            tool_call_id=call_id,
            title=f"{request.permission}: {command or ', '.join(request.patterns)}",
            kind="execute" if request.permission == "bash" else "other",
            raw_input=request.metadata,
        )
        reply = await self._channel.request_permission(session.id, call, _REPLIES) or "reject"
        path = f"/permission/{request.id}/reply"
        await self._server.call("POST", path, directory=session.cwd, body={"reply": reply})

    async def _question(self, session: NativeSession, request: native.QuestionRequest) -> None:
        call_id = request.tool.get("callID") if isinstance(request.tool, dict) else None
        questions = [
            Question(
                text=question.question,
                header=question.header,
                options=tuple(AnswerOption(option.label, option.description) for option in question.options),
                multiple=bool(question.multiple),
                custom=question.custom is not False,
            )
            for question in request.questions
        ]
        answers = await self._channel.ask_questions(session.id, questions, call_id)
        path = f"/question/{request.id}"
        if answers is None:
            await self._server.call("POST", f"{path}/reject", directory=session.cwd)
        else:
            body = {"answers": answers}
            await self._server.call("POST", f"{path}/reply", directory=session.cwd, body=body)
