"""A turn to read while it runs, from code without an event loop."""

from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType

from sandbox_agent.sdk.json_rpc import Envelope
from sandbox_agent.sdk.session.turn import AsyncTurn, PromptResult
from sandbox_agent.sdk.sync.portal import Portal
from sandbox_agent.sdk.universal import UniversalEvent


class Turn:
    """`with session.stream("...") as turn:`; leaving an unfinished turn cancels it."""

    def __init__(self, portal: Portal, turn: AsyncTurn) -> None:
        self._portal = portal
        self._turn = turn

    @property
    def id(self) -> str:
        return self._turn.id

    @property
    def text(self) -> str:
        """What the agent has said so far."""
        return self._turn.text

    @property
    def done(self) -> bool:
        """Whether the turn has ended, well or badly."""
        return self._turn.done

    def result(self) -> PromptResult:
        """Wait for the end; raises what went wrong."""
        return self._portal.run(self._turn.result())

    def cancel(self) -> None:
        """Ask the agent to stop."""
        self._portal.run(self._turn.cancel())

    def __iter__(self) -> Iterator[UniversalEvent]:
        """Typed universal events; raises at the end if the turn failed."""
        return self._portal.iterate(self._turn.__aiter__)

    @property
    def text_deltas(self) -> Iterator[str]:
        """What the agent says, piece by piece."""
        return self._portal.iterate(lambda: self._turn.text_deltas)

    @property
    def raw_events(self) -> Iterator[Envelope]:
        """The ACP messages of the turn, in both directions."""
        return self._portal.iterate(lambda: self._turn.raw_events)

    def __enter__(self) -> Turn:
        self._portal.run(self._turn.__aenter__())
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._portal.run(self._turn.__aexit__(exc_type, exc_value, traceback))

    def stop(self, patience_s: float = 15.0) -> None:
        """Cancel, and wait until the agent has stopped, but not for ever."""
        self._portal.run(self._turn.stop(patience_s))
