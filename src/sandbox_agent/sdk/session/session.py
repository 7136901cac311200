"""`AsyncSession`: a conversation with an agent.

The session id belongs to the client; the agent's own id may change. A session outlives agent
processes, servers and clients, because everything needed to continue it is in the store.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, Self, TypeVar, overload

from sandbox_agent.sdk.errors import SessionEndedError
from sandbox_agent.sdk.opening import Opening
from sandbox_agent.sdk.session.channel.session_channel import SessionChannel
from sandbox_agent.sdk.session.config.config_options import OptionValue
from sandbox_agent.sdk.session.history.restorer import Restored
from sandbox_agent.sdk.session.permissions.callbacks import Handlers
from sandbox_agent.sdk.session.permissions.permission_request import Allow, Deny
from sandbox_agent.sdk.session.permissions.question import Answer
from sandbox_agent.sdk.session.session_events import EventCallback
from sandbox_agent.sdk.session.session_fork import fork_channel
from sandbox_agent.sdk.session.session_info import SessionSettings
from sandbox_agent.sdk.session.session_view import AsyncSessionView
from sandbox_agent.sdk.session.turns.content_blocks import AttachmentLike, Block, Prompt
from sandbox_agent.sdk.session.turns.prompt_request import prompt_request
from sandbox_agent.sdk.session.turns.structured_output import StructuredResult, prompt_for_output
from sandbox_agent.sdk.session.turns.turn import AsyncTurn
from sandbox_agent.sdk.session.turns.turn_result import TurnResult
from sandbox_agent.sdk.typed_json import TypedJson

Callback = TypeVar("Callback", bound=EventCallback)
Output = TypeVar("Output")


class OpenSessions(Protocol):
    """The list of the open sessions of a client."""

    def opened(self, session: AsyncSession) -> None: ...
    def closed(self, session: AsyncSession) -> None: ...


class AsyncSession(AsyncSessionView):
    """One session; made by `client.sessions.create()` or `client.sessions.resume()`."""

    def __init__(
        self,
        channel: SessionChannel,
        settings: SessionSettings,
        restored: Restored,
        sessions: OpenSessions,
    ) -> None:
        super().__init__(channel, settings, restored)
        self._sessions = sessions

    async def refresh(self) -> Self:
        """Read the record from the store again: another client may have changed it."""
        await self._channel.refresh()
        return self

    async def update(self, *, title: str | None = None, metadata: Mapping[str, Any] | None = None) -> None:
        """Change the title or the labels; both stay in the client's store."""
        if title is not None:
            self._channel.change(title=title)
        if metadata is not None:
            self._channel.change(metadata=dict(metadata))
        await self._channel.flush()

    # -- turns ------------------------------------------------------------------------------------------

    @overload
    async def prompt(
        self,
        prompt: Prompt,
        *,
        attachments: Sequence[AttachmentLike] = (),
        timeout: float | None = None,  # noqa: ASYNC109
        queue: bool = True,
        respond_async: bool = False,
        output: None = None,
    ) -> TurnResult: ...

    @overload
    async def prompt(
        self,
        prompt: Prompt,
        *,
        attachments: Sequence[AttachmentLike] = (),
        timeout: float | None = None,  # noqa: ASYNC109
        queue: bool = True,
        respond_async: bool = False,
        output: type[Output],
    ) -> StructuredResult[Output]: ...

    async def prompt(
        self,
        prompt: Prompt,
        *,
        attachments: Sequence[AttachmentLike] = (),
        timeout: float | None = None,  # noqa: ASYNC109 - also sent to the server, as `Prefer: wait`
        queue: bool = True,
        respond_async: bool = False,
        output: type[Any] | None = None,
    ) -> TurnResult:
        """Send a prompt and wait for the end of the turn. Cancelling the wait cancels the turn.

        With `output` the answer is a value of that type, in `result.output`. A wrong answer is repaired in
        one more turn; then `OutputError` is raised, with the `result`.
        """
        if output is None:
            turn = self.start(
                prompt, attachments=attachments, timeout=timeout, queue=queue, respond_async=respond_async
            )
            return await self._ended(turn)

        async def send(blocks: list[Block], timeout_s: float | None) -> TurnResult:
            return await self.prompt(
                blocks, attachments=files.pop(), timeout=timeout_s, queue=queue, respond_async=respond_async
            )

        files: list[Sequence[AttachmentLike]] = [(), attachments]  # the repair sends none
        return await prompt_for_output(TypedJson(output), prompt, timeout, send)

    async def _ended(self, turn: AsyncTurn) -> TurnResult:
        try:
            return await turn.result()
        except asyncio.CancelledError:
            self._lifecycle.spawn(turn.stop(), "cancel turn")
            raise

    def start(
        self,
        prompt: Prompt,
        *,
        attachments: Sequence[AttachmentLike] = (),
        timeout: float | None = None,
        queue: bool = True,
        respond_async: bool = False,
    ) -> AsyncTurn:
        """Send a prompt and return its turn at once; the turn goes on without a reader.

        With `queue=False` it raises `ConcurrentPromptError` while another turn runs or waits.
        """
        request = prompt_request(prompt, attachments, timeout, respond_async)
        turn = self._turns.new(request, queue=queue)
        turn.start()
        return turn

    def stream(
        self,
        prompt: Prompt,
        *,
        attachments: Sequence[AttachmentLike] = (),
        timeout: float | None = None,
        queue: bool = True,
        respond_async: bool = False,
    ) -> AsyncTurn:
        """A turn that starts when it is first used: `async for event in session.stream("...")`.

        In `async with session.stream("...") as turn`, leaving the block cancels the turn.
        """
        return self._turns.new(prompt_request(prompt, attachments, timeout, respond_async), queue=queue)

    async def cancel(self) -> None:
        """Stop the running turn; its open requests are answered as cancelled."""
        await self._turns.cancel()

    async def steer(self, prompt: Prompt) -> None:
        """Give the running turn another message, which the agent reads before it goes on.

        Raises `SteeringError` if no turn runs or the agent cannot do it, as most cannot.
        """
        await self._turns.steer(prompt)

    def fork(self, *, id: str | None = None, title: str | None = None) -> Opening[AsyncSession]:
        """A second session that knows the conversation so far; both go on by themselves.

        It has a copy of the history, the callbacks and tools of this session, and runs in the same process.
        Raises `UnsupportedSessionOptionError` if the agent cannot fork, `ConcurrentPromptError` in a turn.
        """
        return Opening(self._forked(id, title))

    async def _forked(self, new_id: str | None, title: str | None) -> AsyncSession:
        await self._lifecycle.ensure_live()
        channel = await fork_channel(self._channel, new_id, title)
        fork = AsyncSession(channel, self._lifecycle.settings, Restored("created"), self._sessions)
        self._sessions.opened(fork)
        return fork

    # -- configuration ----------------------------------------------------------------------------------

    async def set_mode(self, mode: str) -> None:
        """Switch the mode, such as `plan`; the error for an unknown mode lists those on offer."""
        await self._lifecycle.ensure_live()
        await self._config.set_mode(mode)
        await self._channel.settle()

    async def set_model(self, model: str) -> None:
        """Switch the model; the error for an unknown model lists those on offer."""
        await self._set_category("model", model)

    async def set_thought_level(self, level: str) -> None:
        """Set the reasoning effort; the error for an unknown level lists those on offer."""
        await self._set_category("thought_level", level)

    async def set_config_option(self, config_id: str, value: OptionValue) -> None:
        """Set any option of the agent; the error for a wrong value lists those allowed."""
        await self._lifecycle.ensure_live()
        await self._config.set_option(config_id, value)
        await self._channel.settle()

    async def _set_category(self, category: str, value: str) -> None:
        await self._lifecycle.ensure_live()
        await self._config.set_category(category, value)
        await self._channel.settle()

    async def logout(self) -> None:
        """Log the agent out of its account, also for the sessions that share its process.

        Raises `UnsupportedSessionOptionError` if the agent has no logout.
        """
        await self._lifecycle.ensure_live()
        await self._lifecycle.log_out()

    # -- permissions and questions ----------------------------------------------------------------------

    async def reply_permission(
        self, permission_id: str, reply: str | Allow | Deny | Mapping[str, Any]
    ) -> None:
        """Answer with `once`, `always`, `reject`, an option id, `Allow(raw_input=...)` or `Deny(reason)`.

        A mapping is an ACP response, which is sent as it is.
        """
        await self._channel.requests.reply_permission(permission_id, reply)

    async def cancel_permission(self, permission_id: str) -> None:
        """Answer as cancelled: neither allowed nor rejected."""
        await self._channel.requests.cancel_permission(permission_id)

    async def reply_question(self, question_id: str, answers: Answer) -> None:
        """Answer a question by value or label; a form is sent when all its questions are answered."""
        await self._channel.requests.reply_question(question_id, answers)

    async def reject_question(self, question_id: str) -> None:
        """Decline to answer."""
        await self._channel.requests.reject_question(question_id)

    @property
    def handlers(self) -> Handlers:
        """The callbacks of this session; they may be changed at any time."""
        return self._channel.requests.handlers

    # -- ACP --------------------------------------------------------------------------------------------

    async def request(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,  # noqa: ASYNC109 - also sent to the server, as `Prefer: wait`
    ) -> Any:
        """Send any ACP request; `sessionId` is filled in. Cancelling the wait sends `$/cancel_request`."""
        await self._lifecycle.ensure_live()
        full = {"sessionId": self._channel.native_id, **dict(params or {})}
        return await self._channel.outgoing.request(method, full, timeout_s=timeout)

    async def notify(self, method: str, params: Mapping[str, Any] | None = None) -> None:
        """Send any ACP notification; `sessionId` is filled in."""
        await self._lifecycle.ensure_live()
        await self._channel.outgoing.notify(
            method, {"sessionId": self._channel.native_id, **dict(params or {})}
        )

    # -- closing ----------------------------------------------------------------------------------------

    async def terminate(self) -> None:
        """End the session; its history stays in the store. A second call does nothing."""
        if self._channel.record.destroyed_at is not None:
            return
        self._lifecycle.mark_destroyed()
        if self._channel.live:
            await self._lifecycle.close_in_agent(self.cancel if self.busy else None)
        self._lifecycle.record_end()
        await self._finish(keep_running=False)

    async def delete(self) -> None:
        """Delete what the agent has stored of the session, and end it; the history stays in the store.

        Raises `UnsupportedSessionOptionError` if the agent cannot delete sessions; the session then goes on.
        """
        await self._lifecycle.ensure_live()
        await self._lifecycle.delete_in_agent(self.cancel if self.busy else None)
        self._lifecycle.mark_destroyed()
        self._lifecycle.record_end()
        await self._finish(keep_running=False)

    async def aclose(self, *, keep_running: bool = False) -> None:
        """Release the session; it can be resumed. `keep_running` leaves the agent process running."""
        if not keep_running and self._channel.live:
            self._lifecycle.record_end()
        await self._finish(keep_running=keep_running)

    async def __aenter__(self) -> AsyncSession:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def _finish(self, *, keep_running: bool) -> None:
        try:
            await self._turns.give_up(SessionEndedError(self.id))
            await self._lifecycle.finish(keep_running=keep_running)
        finally:
            self._sessions.closed(self)
