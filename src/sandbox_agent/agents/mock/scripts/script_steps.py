"""The steps a script can yield to the agent that runs it.

A script is a generator: it yields steps, receives a `ClientReply` for each `SendRequest`, and returns the
stop reason of its turn (None means end_turn). It never blocks, so any number of turns run in one thread. When
its turn is cancelled, `TurnCancelled` is raised at the current step.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, NamedTuple

from sandbox_agent.agents.mock.jsonrpc_lines import Json


class TurnCancelled(Exception):
    """The client cancelled the turn."""


class SendUpdate(NamedTuple):
    """A `session/update`. `keep=False` leaves it out of the transcript (floods, huge messages)."""

    update: Json
    keep: bool = True


class SendNotification(NamedTuple):
    """Any other notification."""

    method: str
    params: Json


class SendRequest(NamedTuple):
    """A request to the client; its id is a number, with the prefix in front if there is one."""

    method: str
    params: Json
    id_prefix: str = ""


class ClientReply(NamedTuple):
    """The client's answer to a request: a result or an error."""

    result: Any
    error: Any

    def field(self, name: str) -> Any:
        """A field of the result, None if it does not exist."""
        return self.result.get(name) if isinstance(self.result, dict) else None


class Pause(NamedTuple):
    """Wait; without a number forever. `session/cancel` does not end a stubborn pause."""

    seconds: float | None
    stubborn: bool = False


class WriteRaw(NamedTuple):
    """Bytes for stdout, unchanged."""

    data: bytes


class RunAction(NamedTuple):
    """Call a function after all earlier output has been written."""

    action: Callable[[], object]


class ExitAfterAnswer(NamedTuple):
    """Answer this prompt, then exit with this code."""

    code: int


class StopReading:
    """Never read stdin again, so not even its end is noticed."""


class EndSession:
    """Answer this prompt, then remove the session."""


Step = (
    SendUpdate
    | SendNotification
    | SendRequest
    | Pause
    | WriteRaw
    | RunAction
    | ExitAfterAnswer
    | StopReading
    | EndSession
)
Script = Generator[Step, Any, str | None]
