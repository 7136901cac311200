"""The pending requests of a session: permissions and questions, until each has its one answer.

Callbacks run in tasks of their own and never block the stream. A request that nothing could answer (no
callback and no reader of the events) is rejected at once instead of left pending.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

from sandbox_agent.jsonrpc_error_codes import INVALID_PARAMS, METHOD_NOT_FOUND, REQUEST_CANCELLED
from sandbox_agent.sdk.errors import (
    CallbackError,
    PermissionNotFoundError,
    QuestionNotFoundError,
    SandboxAgentError,
    UnsupportedPermissionReplyError,
)
from sandbox_agent.sdk.jsonrpc import Envelope, error_response
from sandbox_agent.sdk.session.permissions.callbacks import Handlers
from sandbox_agent.sdk.session.permissions.form_drafts import FormDrafts
from sandbox_agent.sdk.session.permissions.permission_request import Allow, Deny, PermissionRequest
from sandbox_agent.sdk.session.permissions.question import REJECT, Answer, Question, Reject
from sandbox_agent.sdk.universal import UniversalMapper, replies
from sandbox_agent.sdk.universal.json_reading import json_text
from sandbox_agent.sdk.universal.user_request_models import PendingQuestion


class PendingRequests:
    """Hands the agent's requests to the callbacks and sends their answers."""

    def __init__(
        self,
        session_id: str,
        mapper: UniversalMapper,
        handlers: Handlers,
        *,
        send: Callable[[Envelope], Awaitable[None]],
        watched: Callable[[], bool],
        failed: Callable[[SandboxAgentError], None],
        before_tool: Callable[[PermissionRequest], Awaitable[Deny | None]],
        explain: Callable[[str], Awaitable[None]],
        takes_changed_input: Callable[[], bool],
    ) -> None:
        self.handlers = handlers
        self._before_tool = before_tool
        self._explain = explain
        self._takes_changed_input = takes_changed_input
        self._session_id = session_id
        self._mapper = mapper
        self._send = send
        self._watched = watched
        self._failed = failed
        self._drafts = FormDrafts()
        self._tasks: dict[str, asyncio.Task[None]] = {}

    # -- state --------------------------------------------------------------------------------------

    @property
    def permissions(self) -> list[PermissionRequest]:
        return [
            PermissionRequest.of(one, self._session_id) for one in self._mapper.pending_permissions.values()
        ]

    @property
    def questions(self) -> list[Question]:
        return [Question.of(one, self._session_id) for one in self._mapper.pending_questions.values()]

    def asked(self, envelope: Envelope) -> None:
        """Start answering a request that the mapper has taken in."""
        request_id = envelope["id"]
        if not self._is_open(request_id):
            form = envelope.get("method") == "elicitation/create"
            code = INVALID_PARAMS if form else METHOD_NOT_FOUND
            message = (
                "neither a form nor an address" if form else f"Method not found: {envelope.get('method')}"
            )
            self._start(request_id, lambda: self._send(error_response(request_id, code, message)))
            return
        self._start(request_id, lambda: self._decide(request_id))

    def ask_again(self) -> None:
        """Call the callbacks again for everything still pending, as after a restart of the client."""
        open_ids = [one.request_id for one in self._mapper.pending_permissions.values()]
        open_ids += [one.request_id for one in self._mapper.pending_questions.values()]
        for key, request_id in {json_text(one): one for one in open_ids}.items():
            if key not in self._tasks:
                self._start(request_id, partial(self._decide, request_id))

    def withdrawn(self, request_id: Any) -> None:
        """Answer a request that the agent cancelled with `$/cancel_request`."""
        answer = error_response(request_id, REQUEST_CANCELLED, "the request was withdrawn")
        self._start(request_id, lambda: self._send(answer))

    # -- answers ------------------------------------------------------------------------------------

    async def reply_permission(
        self, permission_id: str, reply: str | Allow | Deny | Mapping[str, Any]
    ) -> None:
        """Answer with a reply, or with an ACP response that is sent as it is."""
        pending = self._mapper.pending_permissions.get(permission_id)
        if pending is None:
            raise PermissionNotFoundError(permission_id)
        if isinstance(reply, Deny):
            if reply.reason:
                # First: many agents end the turn with the rejection.
                await self._explain(reply.reason)
            if permission_id in self._mapper.pending_permissions:
                await self._answer(pending.request_id, replies.denied_permission(pending, reply.reason))
            return
        if isinstance(reply, Allow):
            if reply.raw_input is not None and not self._takes_changed_input():
                raise UnsupportedPermissionReplyError(
                    permission_id,
                    "a changed input",
                    (option.option_id for option in pending.options),
                    problem="the agent cannot run a tool with another input than its own",
                )
            result = replies.allowed_permission(pending, reply.reply, reply.raw_input)
        else:
            result = replies.permission_result(pending, reply) if isinstance(reply, str) else dict(reply)
        await self._answer(pending.request_id, result)

    async def cancel_permission(self, permission_id: str) -> None:
        pending = self._mapper.pending_permissions.get(permission_id)
        if pending is None:
            raise PermissionNotFoundError(permission_id)
        await self._answer(pending.request_id, replies.cancelled_permission(pending))

    async def reply_question(self, question_id: str, answers: Answer) -> None:
        pending = self._mapper.pending_questions.get(question_id)
        if pending is None:
            raise QuestionNotFoundError(question_id)
        group = self._group(pending.request_id)
        self._drafts.add(pending, answers)
        chosen = self._drafts.take_complete(group)
        if chosen is not None:
            await self._answer(pending.request_id, replies.question_result(group, chosen))

    async def reject_question(self, question_id: str) -> None:
        pending = self._mapper.pending_questions.get(question_id)
        if pending is None:
            raise QuestionNotFoundError(question_id)
        await self._answer(pending.request_id, replies.rejected_question(self._group(pending.request_id)))

    async def cancel_all(self) -> None:
        """Answer every pending request as cancelled."""
        for pending in list(self._mapper.pending_permissions.values()):
            await self._answer(pending.request_id, replies.cancelled_permission(pending))
        for question in list(self._mapper.pending_questions.values()):
            if question.question_id in self._mapper.pending_questions:
                group = self._group(question.request_id)
                await self._answer(question.request_id, replies.cancelled_question(group))

    async def close(self) -> None:
        """Cancel every running callback."""
        tasks = [task for task in self._tasks.values() if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    # -- callbacks ------------------------------------------------------------------------------------

    async def _decide(self, request_id: Any) -> None:
        try:
            async with asyncio.timeout(
                self.handlers.permission_timeout if self._permission(request_id) else None
            ):
                await self._ask(request_id)
                if self.handlers.permission_timeout is not None and self._permission(request_id):
                    # The callback left the request open: the time limit still applies.
                    await asyncio.Event().wait()
        except TimeoutError:
            await self._give_up(request_id)
        except SandboxAgentError as error:
            await self._give_up(request_id)
            self._failed(error)
        except BaseException as error:
            task = asyncio.current_task()
            if isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling():
                raise
            # Also a callback that awaited something cancelled, or left with `sys.exit`, leaves nothing open.
            failure = CallbackError(f"a callback failed: {error!r}")
            failure.__cause__ = error
            self._failed(failure)
            await self._give_up(request_id)
            if isinstance(error, KeyboardInterrupt):
                raise

    async def _ask(self, request_id: Any) -> None:
        permission = self._permission(request_id)
        if permission is not None:
            await self._ask_permission(permission)
            return
        for question in self._group(request_id):
            if not await self._ask_question(question):
                return

    async def _ask_permission(self, request: PermissionRequest) -> None:
        denied = await self._before_tool(request)
        if denied is not None:
            if request.id in self._mapper.pending_permissions:
                await self.reply_permission(request.id, denied)
            return
        if self.handlers.on_permission is None:
            if not self._watched():
                await self.cancel_permission(request.id)
            return
        reply = await self.handlers.call(self.handlers.on_permission, request)
        if reply is not None and request.id in self._mapper.pending_permissions:
            await self.reply_permission(request.id, reply)

    async def _ask_question(self, pending: PendingQuestion) -> bool:
        """Ask one question; returns whether to go on with the other questions of its form."""
        if self.handlers.on_question is None:
            if not self._watched():
                await self.reject_question(pending.question_id)
            return False
        answer = await self.handlers.call(self.handlers.on_question, Question.of(pending, self._session_id))
        if answer is None or pending.question_id not in self._mapper.pending_questions:
            return False
        if answer is REJECT or isinstance(answer, Reject):
            await self.reject_question(pending.question_id)
            return False
        await self.reply_question(pending.question_id, answer)
        return True

    async def _give_up(self, request_id: Any) -> None:
        permission = self._permission(request_id)
        group = self._group(request_id)
        try:
            if permission is not None:
                await self.cancel_permission(permission.id)
            elif group:
                await self._answer(request_id, replies.cancelled_question(group))
        except SandboxAgentError as error:
            self._failed(error)

    async def _answer(self, request_id: Any, result: dict[str, Any]) -> None:
        self._drafts.discard(self._group(request_id))
        waiting = self._tasks.get(json_text(request_id))
        await self._send({"jsonrpc": "2.0", "id": request_id, "result": result})
        if waiting is not None and waiting is not asyncio.current_task():
            waiting.cancel()

    # -- helpers --------------------------------------------------------------------------------------

    def _start(self, request_id: Any, work: Callable[[], Awaitable[None]]) -> None:
        key = json_text(request_id)
        previous = self._tasks.get(key)
        if previous is not None:
            previous.cancel()
        task = asyncio.create_task(self._guarded(work), name=f"request {key}")
        self._tasks[key] = task
        task.add_done_callback(
            lambda done: self._tasks.pop(key, None) if self._tasks.get(key) is done else None
        )

    async def _guarded(self, work: Callable[[], Awaitable[None]]) -> None:
        try:
            await work()
        except SandboxAgentError as error:
            self._failed(error)

    def _is_open(self, request_id: Any) -> bool:
        return self._permission(request_id) is not None or bool(self._group(request_id))

    def _permission(self, request_id: Any) -> PermissionRequest | None:
        key = json_text(request_id)
        for pending in self._mapper.pending_permissions.values():
            if json_text(pending.request_id) == key:
                return PermissionRequest.of(pending, self._session_id)
        return None

    def _group(self, request_id: Any) -> list[PendingQuestion]:
        key = json_text(request_id)
        return [q for q in self._mapper.pending_questions.values() if json_text(q.request_id) == key]
