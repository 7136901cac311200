"""A conversation with an agent, from code without an event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeVar, overload

from sandbox_agent.sdk.json_rpc import Envelope
from sandbox_agent.sdk.session.callbacks import Answer, PermissionRequest, Question
from sandbox_agent.sdk.session.config.config_options import ConfigOption, OptionValue
from sandbox_agent.sdk.session.content_blocks import AttachmentLike, Prompt
from sandbox_agent.sdk.session.history.restorer import Restored
from sandbox_agent.sdk.session.session import AsyncSession
from sandbox_agent.sdk.session.session_info import SessionInfo
from sandbox_agent.sdk.session.turn import PromptResult
from sandbox_agent.sdk.sync.portal import Portal
from sandbox_agent.sdk.sync.session_names import SessionNames
from sandbox_agent.sdk.sync.turn import Turn
from sandbox_agent.sdk.universal import UniversalEvent

Callback = TypeVar("Callback", bound=Callable[[UniversalEvent], None])


class Session(SessionNames):
    """One session; get it from `client.sessions.create()` or `.resume()`."""

    def __init__(self, portal: Portal, session: AsyncSession) -> None:
        self._portal = portal
        self._session = session

    # -- facts ------------------------------------------------------------------------------------------

    @property
    def id(self) -> str:
        return self._session.id

    @property
    def agent(self) -> str:
        return self._session.agent

    @property
    def title(self) -> str | None:
        return self._session.title

    @property
    def metadata(self) -> Mapping[str, Any]:
        return self._session.metadata

    @property
    def directory(self) -> str:
        return self._session.directory

    @property
    def native_session_id(self) -> str | None:
        """The agent's own id of the session."""
        return self._session.native_session_id

    @property
    def restored(self) -> Restored:
        """How the session came to its present agent process."""
        return self._session.restored

    @property
    def active_turn(self) -> Turn | None:
        """The turn that runs at the moment, if this client started it."""
        turn = self._session.active_turn
        return None if turn is None else Turn(self._portal, turn)

    @property
    def busy(self) -> bool:
        """Whether the agent works on a prompt."""
        return self._portal.call(lambda: self._session.busy)

    @property
    def pending_permissions(self) -> list[PermissionRequest]:
        return self._portal.call(lambda: self._session.pending_permissions)

    @property
    def pending_questions(self) -> list[Question]:
        return self._portal.call(lambda: self._session.pending_questions)

    @property
    def config_options(self) -> list[ConfigOption]:
        return self._session.config_options

    @property
    def modes(self) -> list[str]:
        """The modes that can be set."""
        return self._session.modes

    @property
    def info(self) -> SessionInfo:
        """A snapshot of the session."""
        return self._portal.call(lambda: self._session.info)

    def update(self, *, title: str | None = None, metadata: Mapping[str, Any] | None = None) -> None:
        """Change the title or the labels."""
        self._portal.run(self._session.update(title=title, metadata=metadata))

    # -- turns ------------------------------------------------------------------------------------------

    def prompt(
        self,
        prompt: Prompt,
        *,
        attachments: Sequence[AttachmentLike] = (),
        timeout: float | None = None,
        queue: bool = True,
        respond_async: bool = False,
    ) -> PromptResult:
        """Send a prompt and wait for the end of the turn. An interrupted wait cancels the turn."""
        return self._portal.run(
            self._session.prompt(
                prompt, attachments=attachments, timeout=timeout, queue=queue, respond_async=respond_async
            )
        )

    def stream(
        self,
        prompt: Prompt,
        *,
        attachments: Sequence[AttachmentLike] = (),
        timeout: float | None = None,
        queue: bool = True,
        respond_async: bool = False,
    ) -> Turn:
        """A turn to read while it runs: `with session.stream("...") as turn`."""
        turn = self._portal.call(
            lambda: self._session.stream(
                prompt, attachments=attachments, timeout=timeout, queue=queue, respond_async=respond_async
            )
        )
        return Turn(self._portal, turn)

    def cancel(self) -> None:
        """Stop the running turn; whatever it has asked is answered as cancelled."""
        self._portal.run(self._session.cancel())

    # -- choices ----------------------------------------------------------------------------------------

    def set_mode(self, mode: str) -> None:
        """Switch the mode; the error lists the modes there are."""
        self._portal.run(self._session.set_mode(mode))

    def set_model(self, model: str) -> None:
        """Switch the model; the error lists the models there are."""
        self._portal.run(self._session.set_model(model))

    def set_thought_level(self, level: str) -> None:
        """Set how hard the agent thinks; the error lists the levels there are."""
        self._portal.run(self._session.set_thought_level(level))

    def set_config_option(self, config_id: str, value: OptionValue) -> None:
        """Set any option the agent has; the error lists what is allowed."""
        self._portal.run(self._session.set_config_option(config_id, value))

    # -- a person in the loop ---------------------------------------------------------------------------

    def reply_permission(self, permission_id: str, reply: str) -> None:
        """Answer with `once`, `always`, `reject` or the id of an option."""
        self._portal.run(self._session.reply_permission(permission_id, reply))

    def cancel_permission(self, permission_id: str) -> None:
        """Answer as cancelled: neither allowed nor refused."""
        self._portal.run(self._session.cancel_permission(permission_id))

    def reply_question(self, question_id: str, answers: Answer) -> None:
        """Answer a question, by value or label."""
        self._portal.run(self._session.reply_question(question_id, answers))

    def reject_question(self, question_id: str) -> None:
        """Refuse to answer."""
        self._portal.run(self._session.reject_question(question_id))

    # -- events -----------------------------------------------------------------------------------------

    @overload
    def events(
        self, offset: int = 0, limit: int = 100, *, raw: Literal[False] = False
    ) -> list[UniversalEvent]: ...

    @overload
    def events(self, offset: int = 0, limit: int = 100, *, raw: Literal[True]) -> list[Envelope]: ...

    def events(
        self, offset: int = 0, limit: int = 100, *, raw: bool = False
    ) -> list[UniversalEvent] | list[Envelope]:
        """Stored universal events, without the first `offset`; with `raw` the ACP messages."""
        if raw:
            return self.raw_events(offset, limit)
        return self._portal.run(self._session.events(offset, limit))

    def raw_events(self, offset: int = 0, limit: int = 100) -> list[Envelope]:
        """Stored ACP messages, in both directions, without the first `offset`."""
        return self._portal.run(self._session.raw_events(offset, limit))

    @overload
    def follow(self, since: int = 0, *, raw: Literal[False] = False) -> Iterator[UniversalEvent]: ...

    @overload
    def follow(self, since: int = 0, *, raw: Literal[True]) -> Iterator[Envelope]: ...

    def follow(self, since: int = 0, *, raw: bool = False) -> Iterator[UniversalEvent] | Iterator[Envelope]:
        """Events with a sequence after `since`, or messages after the first `since`: the stored ones, then
        live ones, without end."""
        if raw:
            return self._portal.iterate(lambda: self._session.follow(since, raw=True))
        return self._portal.iterate(lambda: self._session.follow(since))

    def on_event(
        self, callback: Callable[[UniversalEvent], None], *, type: str | None = None
    ) -> Callable[[], None]:
        """Call back, in a thread, for every event from now on; returns the way to stop."""

        async def in_thread(event: UniversalEvent) -> None:
            await asyncio.to_thread(callback, event)

        stop = self._portal.call(lambda: self._session.on_event(in_thread, type=type))
        return lambda: self._portal.call(stop)

    def on(self, type: str) -> Callable[[Callback], Callback]:
        """`@session.on("item.delta")`: call the function, in a thread, for every event of this type."""

        def register(callback: Callback) -> Callback:
            self.on_event(callback, type=type)
            return callback

        return register

    # -- the rest of ACP, and the end -------------------------------------------------------------------

    def request(
        self, method: str, params: Mapping[str, Any] | None = None, *, timeout: float | None = None
    ) -> Any:
        """Send any ACP request; `sessionId` is filled in."""
        return self._portal.run(self._session.request(method, params, timeout=timeout))

    def notify(self, method: str, params: Mapping[str, Any] | None = None) -> None:
        """Send any ACP notification; `sessionId` is filled in."""
        self._portal.run(self._session.notify(method, params))

    def terminate(self) -> None:
        """End the session for good; doing it twice is fine."""
        self._portal.run(self._session.terminate())

    destroy = terminate

    def close(self, *, keep_running: bool = False) -> None:
        """Let go of the session without ending it; it can be resumed."""
        self._portal.run(self._session.aclose(keep_running=keep_running))

    aclose = close
