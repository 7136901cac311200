"""A conversation with an agent, as its user sees it.

The session id is the client's own; the agent's id is a detail that may change. A session outlives
agent processes, servers and clients: whatever it needs to go on is in the store.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from . import blocks
from .blocks import AttachmentLike, Prompt
from .choices import Choices
from .desk import Handlers
from .errors import AgentExitedError, ConcurrentPromptError, SandboxAgentError, SessionEndedError
from .files import AsyncFiles
from .hub import InstanceKey
from .human import Answer, PermissionRequest, Question
from .link import SessionLink
from .options import ConfigOption, OptionValue
from .recording import Entry
from .restore import Restored, RestorePolicy, Restorer, read_history, replay_history
from .telemetry import prompt_span
from .turn import AsyncTurn, PromptResult
from .universal import UniversalEvent, UniversalMapper, meta, notes
from .wire import Envelope

log = logging.getLogger("sandbox_agent")

# A turn that was given up keeps the next prompt waiting for this long at most.
LEFTOVER_TURN_S = 5.0
# A cancel waits this long at most for its prompt to reach the agent.
SENT_S = 2.0

EventCallback = Callable[[UniversalEvent], Awaitable[None] | None]


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """Everything there is to know about a session at one moment."""

    session_id: str
    agent: str
    agent_mode: str | None
    permission_mode: str | None
    model: str | None
    thought_level: str | None
    event_count: int
    """Universal events so far; `session.events()` gives them."""
    pending_questions: list[str]
    pending_permissions: list[str]
    subscribers: int
    """Who reads the session's events at the moment."""
    ended: bool
    """No agent process stands behind the session any more."""
    native_session_id: str | None
    title: str | None
    metadata: Mapping[str, Any]
    directory: str | None
    created_at: int
    destroyed_at: int | None
    server_id: str | None
    restored: Restored
    busy: bool
    """A turn is running."""


@dataclass(frozen=True, slots=True)
class SessionSettings:
    """How a session behaves on this client."""

    key: InstanceKey
    restore: RestorePolicy = "auto"
    replay_max_events: int = 50
    replay_max_chars: int = 12_000


class AsyncSession:
    """One session; get it from `client.sessions.create()` or `.resume()`."""

    def __init__(self, link: SessionLink, settings: SessionSettings, restored: Restored) -> None:
        self.settings = settings
        self._link = link
        self._restored = restored
        self._choices = Choices(link)
        self._turn_lock = asyncio.Lock()
        self._finishing = False
        self._restore_lock = asyncio.Lock()
        self._turn: AsyncTurn | None = None
        self._tasks: set[asyncio.Task[Any]] = set()
        self._transcript = restored.transcript

    # -- facts ------------------------------------------------------------------------------------------

    @property
    def id(self) -> str:
        return self._link.record.id

    @property
    def agent(self) -> str:
        return self._link.record.agent

    @property
    def title(self) -> str | None:
        return self._link.record.title

    @property
    def metadata(self) -> Mapping[str, Any]:
        return dict(self._link.record.metadata or {})

    @property
    def directory(self) -> str:
        return self.settings.key.directory

    @property
    def native_session_id(self) -> str | None:
        """The agent's own id of the session."""
        return self._link.native_id or None

    @property
    def restored(self) -> Restored:
        """How the session came to its present agent process."""
        return self._restored

    @property
    def active_turn(self) -> AsyncTurn | None:
        """The turn that runs at the moment, if this client started it."""
        return self._turn

    @property
    def busy(self) -> bool:
        """Whether the agent works on a prompt, of this client or of an earlier life of it."""
        return bool(self._link.mapper.open_turn_ids)

    @property
    def pending_permissions(self) -> list[PermissionRequest]:
        return self._link.desk.permissions

    @property
    def pending_questions(self) -> list[Question]:
        return self._link.desk.questions

    @property
    def config_options(self) -> list[ConfigOption]:
        return self._choices.options

    @property
    def modes(self) -> list[str]:
        """The modes that can be set."""
        return self._choices.modes

    @property
    def info(self) -> SessionInfo:
        """A snapshot of the session."""
        record = self._link.record
        asked = meta.product_meta(record.session_init or {})
        return SessionInfo(
            session_id=record.id,
            agent=record.agent,
            agent_mode=self._choices.current_mode or asked.get("agentMode"),
            permission_mode=asked.get("permissionMode"),
            model=self._choices.current("model") or asked.get("model"),
            thought_level=self._choices.current("thought_level"),
            event_count=self._link.mapper.sequence,
            pending_questions=[one.id for one in self.pending_questions],
            pending_permissions=[one.id for one in self.pending_permissions],
            subscribers=self._link.watchers,
            ended=record.destroyed_at is not None or not self._link.live,
            native_session_id=self.native_session_id,
            title=record.title,
            metadata=self.metadata,
            directory=self.directory,
            created_at=record.created_at,
            destroyed_at=record.destroyed_at,
            server_id=record.server_id,
            restored=self._restored,
            busy=self.busy,
        )

    async def update(self, *, title: str | None = None, metadata: Mapping[str, Any] | None = None) -> None:
        """Change the title or the labels; they belong to the client and stay in its store."""
        if title is not None:
            self._link.change(title=title)
        if metadata is not None:
            self._link.change(metadata=dict(metadata))
        await self._link.flush()

    # -- turns ------------------------------------------------------------------------------------------

    async def prompt(
        self,
        prompt: Prompt,
        *,
        attachments: Sequence[AttachmentLike] = (),
        timeout: float | None = None,  # noqa: ASYNC109 - also sent to the server, as `Prefer: wait`
        queue: bool = True,
        respond_async: bool = False,
    ) -> PromptResult:
        """Send a prompt and wait for the end of the turn. Cancelling this wait cancels the turn."""
        turn = self._new_turn(prompt, attachments, timeout, queue, respond_async)
        turn.start()
        try:
            return await turn.result()
        except asyncio.CancelledError:
            self._spawn(turn.stop(), "cancel turn")
            raise

    def stream(
        self,
        prompt: Prompt,
        *,
        attachments: Sequence[AttachmentLike] = (),
        timeout: float | None = None,
        queue: bool = True,
        respond_async: bool = False,
    ) -> AsyncTurn:
        """A turn to read while it runs: `async with session.stream("...") as turn`."""
        return self._new_turn(prompt, attachments, timeout, queue, respond_async)

    async def cancel(self) -> None:
        """Stop the running turn; whatever it has asked is answered as cancelled."""
        turn = self._turn
        if turn is not None:
            turn.cancel_wanted = True
            await self._wait_sent(turn)
        if self._link.live:
            await self._link.notify("session/cancel", {"sessionId": self._link.native_id})
            await self._link.desk.cancel_all()

    async def cancel_turn(self, turn: AsyncTurn) -> None:
        """Stop this turn, whether it runs or still waits for its place."""
        if turn is self._turn:
            await self.cancel()
        else:
            turn.give_up(None)

    async def _wait_sent(self, turn: AsyncTurn) -> None:
        # A cancel that overtakes its prompt would be lost.
        try:
            async with asyncio.timeout(SENT_S):
                await turn.sent.wait()
        except TimeoutError:
            log.debug("turn %s is cancelled before it was accepted", turn.id)

    def watch(self, change: int) -> None:
        """One reader of the events more, or one less."""
        self._link.watchers += change

    def _new_turn(
        self,
        prompt: Prompt,
        attachments: Sequence[AttachmentLike],
        timeout_s: float | None,
        queue: bool,
        respond_async: bool,
    ) -> AsyncTurn:
        if not queue and self._turn_lock.locked():
            raise ConcurrentPromptError(self.id)

        async def work(turn: AsyncTurn) -> PromptResult:
            await self._turn_lock.acquire()
            self._turn = turn
            try:
                return await self._run(turn, prompt, attachments, timeout_s, respond_async)
            finally:
                self._turn = None
                if self._finishing:
                    self._turn_lock.release()
                else:
                    self._spawn(self._free_turn_lock(turn.id), "end of turn")

        return AsyncTurn(self, f"turn_{uuid.uuid4().hex}", work)

    async def _run(
        self,
        turn: AsyncTurn,
        prompt: Prompt,
        attachments: Sequence[AttachmentLike],
        timeout_s: float | None,
        respond_async: bool,
    ) -> PromptResult:
        link = self._link
        await self._ensure_live()
        content = await self._content(prompt, attachments)
        if turn.cancel_wanted:
            turn.sent.set()
            return turn.make_result({"stopReason": "cancelled"})
        link.callback_error = None
        unwatch = link.recorder.watch(turn.take)
        try:
            with prompt_span(
                agent=self.agent,
                session_id=self.id,
                native_session_id=link.native_id,
                model=self._choices.current("model"),
            ) as span:
                params = meta.with_turn({"prompt": content}, turn.id)
                if span.trace_context:
                    params["_meta"] = {**span.trace_context, **params["_meta"]}
                answer = await self._send_prompt(params, timeout_s, respond_async)
                result = turn.make_result(answer)
                span.finished(result.stop_reason, result.usage.raw if result.usage else None)
            self._transcript = None
            await link.desk.cancel_all()
        except SandboxAgentError:
            if turn.id in link.mapper.open_turn_ids and link.live:
                self._spawn(self.cancel(), "cancel after failure")
            raise
        finally:
            unwatch()
            await link.flush()
        if link.callback_error is not None:
            raise link.callback_error
        return result

    async def _send_prompt(self, params: dict[str, Any], timeout_s: float | None, respond_async: bool) -> Any:
        for last_try in (False, True):
            full = {"sessionId": self._link.native_id, **params}
            try:
                return await self._link.request(
                    "session/prompt", full, timeout_s=timeout_s, respond_async=respond_async
                )
            except AgentExitedError as error:
                # Only what certainly never reached an agent is sent to the restored one.
                if last_try or not error.never_delivered:
                    raise
            await self._ensure_live()
            params = {**params, "prompt": [*self._replay_block(), *params["prompt"]]}
        raise AssertionError("unreachable")

    def _replay_block(self) -> list[blocks.Block]:
        return [meta.as_replay(blocks.text(self._transcript))] if self._transcript else []

    async def _content(self, prompt: Prompt, attachments: Sequence[AttachmentLike]) -> list[blocks.Block]:
        content = blocks.prompt_blocks(prompt)
        for value in attachments:
            one = blocks.as_attachment(value, self.directory)
            data = await AsyncFiles(self._link.hub.api).read(one.path) if one.embed else None
            content.append(blocks.attachment_block(one, data))
        return [*self._replay_block(), *content]

    async def _free_turn_lock(self, turn_id: str) -> None:
        """Let the next prompt in once the agent is really done with this one."""
        ended = asyncio.Event()
        unwatch = self._link.recorder.watch(lambda _: ended.set())
        try:
            async with asyncio.timeout(LEFTOVER_TURN_S):
                while turn_id in self._link.mapper.open_turn_ids and self._link.live:
                    ended.clear()
                    await ended.wait()
        except TimeoutError:
            log.debug("turn %s never ended", turn_id)
        finally:
            unwatch()
            self._turn_lock.release()

    # -- choices ----------------------------------------------------------------------------------------

    async def set_mode(self, mode: str) -> None:
        """Switch the mode, such as `plan`; the error lists the modes there are."""
        await self._ensure_live()
        await self._choices.set_mode(mode)
        await self._link.flush()

    async def set_model(self, model: str) -> None:
        """Switch the model; the error lists the models there are."""
        await self._set_category("model", model)

    async def set_thought_level(self, level: str) -> None:
        """Set how hard the agent thinks; the error lists the levels there are."""
        await self._set_category("thought_level", level)

    async def set_config_option(self, config_id: str, value: OptionValue) -> None:
        """Set any option the agent has; the error lists what is allowed."""
        await self._ensure_live()
        await self._choices.set_option(config_id, value)
        await self._link.flush()

    async def _set_category(self, category: str, value: str) -> None:
        await self._ensure_live()
        await self._choices.set_category(category, value)
        await self._link.flush()

    # -- a person in the loop ---------------------------------------------------------------------------

    async def reply_permission(self, permission_id: str, reply: str) -> None:
        """Answer with `once`, `always`, `reject` or the id of an option."""
        await self._link.desk.reply_permission(permission_id, reply)

    async def cancel_permission(self, permission_id: str) -> None:
        """Answer as cancelled: neither allowed nor refused."""
        await self._link.desk.cancel_permission(permission_id)

    async def reply_question(self, question_id: str, answers: Answer) -> None:
        """Answer a question, by value or label; the parts of a form are sent when all are answered."""
        await self._link.desk.reply_question(question_id, answers)

    async def reject_question(self, question_id: str) -> None:
        """Refuse to answer."""
        await self._link.desk.reject_question(question_id)

    @property
    def handlers(self) -> Handlers:
        """The callbacks of this session; they may be changed at any time."""
        return self._link.desk.handlers

    # -- events -----------------------------------------------------------------------------------------

    async def events(self, offset: int = 0, limit: int = 100) -> list[UniversalEvent]:
        """Stored universal events, without the first `offset`."""
        await self._link.flush()
        history = await read_history(self._link.hub.store, self.id)
        events = replay_history(history, UniversalMapper(self.id, agent=self.agent))
        return events[offset : offset + limit]

    async def raw_events(self, offset: int = 0, limit: int = 100) -> list[Envelope]:
        """Stored ACP messages, in both directions, without the first `offset`."""
        await self._link.flush()
        page = await self._link.hub.store.list_events(self.id, offset=offset, limit=limit)
        return [dict(record.payload) for record in page.items]

    async def follow(self, since: int = 0) -> AsyncIterator[UniversalEvent]:
        """Universal events with a sequence after `since`: the stored ones, then live ones, without end."""
        entries: asyncio.Queue[Entry] = asyncio.Queue()
        unwatch = self._link.recorder.watch(entries.put_nowait)
        reached = self._link.recorder.count
        self.watch(1)
        try:
            await self._link.flush()
            history = await read_history(self._link.hub.store, self.id)
            stored = [record for record in history if record.event_index <= reached]
            for event in replay_history(stored, UniversalMapper(self.id, agent=self.agent)):
                if event.sequence > since:
                    yield event
            while True:
                for event in (await entries.get()).events:
                    if event.sequence > since:
                        yield event
        finally:
            self.watch(-1)
            unwatch()

    def on_event(self, callback: EventCallback, *, type: str | None = None) -> Callable[[], None]:
        """Call back, sync or async, for every event (of one type) from now on; returns the way to stop."""
        queue: asyncio.Queue[UniversalEvent] = asyncio.Queue()

        def take(entry: Entry) -> None:
            for event in entry.events:
                if type is None or event.type == type:
                    queue.put_nowait(event)

        async def deliver() -> None:
            while True:
                event = await queue.get()
                try:
                    result = callback(event)
                    if inspect.isawaitable(result):
                        await result
                except Exception:
                    log.exception("an event callback of session %s failed", self.id)

        unwatch = self._link.recorder.watch(take)
        task = self._spawn(deliver(), "event callback")
        self.watch(1)

        def stop() -> None:
            if not task.cancelled():
                self.watch(-1)
            unwatch()
            task.cancel()

        return stop

    # -- the rest of ACP --------------------------------------------------------------------------------

    async def request(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        timeout: float | None = None,  # noqa: ASYNC109 - also sent to the server, as `Prefer: wait`
    ) -> Any:
        """Send any ACP request; `sessionId` is filled in."""
        await self._ensure_live()
        full = {"sessionId": self._link.native_id, **dict(params or {})}
        return await self._link.request(method, full, timeout_s=timeout)

    async def notify(self, method: str, params: Mapping[str, Any] | None = None) -> None:
        """Send any ACP notification; `sessionId` is filled in."""
        await self._ensure_live()
        await self._link.notify(method, {"sessionId": self._link.native_id, **dict(params or {})})

    # -- beginning and end ------------------------------------------------------------------------------

    async def terminate(self) -> None:
        """End the session for good; doing it twice is fine. Its history stays in the store."""
        link = self._link
        if link.record.destroyed_at is not None:
            return
        link.change(destroyed_at=int(time.time() * 1000))
        if link.live:
            await self._say_goodbye()
        if not link.mapper.ended:
            link.note(notes.session_ended("terminated", "daemon"))
        await self._finish()

    async def aclose(self, *, keep_running: bool = False) -> None:
        """Let go of the session without ending it; it can be resumed."""
        link = self._link
        if not keep_running and not link.mapper.ended and link.live:
            link.note(notes.session_ended("terminated", "daemon"))
        await self._finish(keep_running=keep_running)

    async def _say_goodbye(self) -> None:
        link = self._link
        try:
            async with asyncio.timeout(5.0):
                if self.busy:
                    await self.cancel()
                closes = link.instance is not None and link.instance.capability(
                    "sessionCapabilities", "close"
                )
                if closes is not None and closes is not False:
                    await link.request("session/close", {"sessionId": link.native_id})
        except (SandboxAgentError, TimeoutError) as error:
            log.debug("session %s was not closed politely: %s", self.id, error)

    async def _finish(self, *, keep_running: bool = False) -> None:
        link = self._link
        self._finishing = True
        if self._turn is not None:
            self._turn.give_up(SessionEndedError(self.id))
        await link.desk.close()
        if not keep_running:
            await link.leave()
        for task in list(self._tasks):
            task.cancel()
        if self._tasks:
            await asyncio.wait(list(self._tasks))
        await link.flush()

    async def _ensure_live(self) -> None:
        if self._link.record.destroyed_at is not None:
            raise SessionEndedError(self.id)
        if self._link.live:
            return
        async with self._restore_lock:
            if not self._link.live:
                self._restored = await self._restorer().restore(self.settings.restore)
                self._transcript = self._restored.transcript

    def _restorer(self) -> Restorer:
        return Restorer(
            self._link,
            self.settings.key,
            replay_max_events=self.settings.replay_max_events,
            replay_max_chars=self.settings.replay_max_chars,
        )

    def _spawn(self, work: Coroutine[Any, Any, Any], name: str) -> asyncio.Task[Any]:
        task = asyncio.create_task(work, name=f"{name} {self.id}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(_observe)
        return task


def _observe(task: asyncio.Task[Any]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        log.debug("%s failed: %s", task.get_name(), error)
