"""What a script can ask of the agent that runs it.

A script is a generator: it yields steps, gets a `Reply` back from `Ask`, and returns the stop reason of
its turn (None means end_turn). It does no waiting of its own, so any number of turns run side by side in
one thread. When its turn is cancelled, `Cancelled` is raised at the step it stands on.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as in typing, which is too slow to import here
if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from typing import Any

    from sandbox_agent.agents.mock.jsonrpc import Json

    Script = Generator["Step", Any, str | None]


class Cancelled(Exception):
    """The client cancelled the turn."""


class Step:
    """Base of everything a script may yield."""

    __slots__ = ()


class Update(Step):
    """A `session/update`. `keep=False` leaves it out of the transcript (floods, huge messages)."""

    __slots__ = ("keep", "update")

    def __init__(self, update: Json, keep: bool = True) -> None:
        self.update = update
        self.keep = keep


class Notify(Step):
    """Any other notification."""

    __slots__ = ("method", "params")

    def __init__(self, method: str, params: Json) -> None:
        self.method = method
        self.params = params


class Ask(Step):
    """A request to the client; the script goes on with the `Reply`. Ids are numbers, or prefix-number."""

    __slots__ = ("id_prefix", "method", "params")

    def __init__(self, method: str, params: Json, id_prefix: str = "") -> None:
        self.method = method
        self.params = params
        self.id_prefix = id_prefix


class Reply:
    """What the client answered: a result or an error."""

    __slots__ = ("error", "result")

    def __init__(self, result: Any, error: Any) -> None:
        self.result = result
        self.error = error

    def field(self, name: str) -> Any:
        """A field of the result, None where there is none."""
        return self.result.get(name) if isinstance(self.result, dict) else None


class Pause(Step):
    """Wait; without a number for ever. A stubborn pause is not ended by `session/cancel`."""

    __slots__ = ("seconds", "stubborn")

    def __init__(self, seconds: float | None, stubborn: bool = False) -> None:
        self.seconds = seconds
        self.stubborn = stubborn


class Raw(Step):
    """Bytes for stdout, as they are."""

    __slots__ = ("data",)

    def __init__(self, data: bytes) -> None:
        self.data = data


class Act(Step):
    """Something done to this process, after everything said before has been written."""

    __slots__ = ("action",)

    def __init__(self, action: Callable[[], object]) -> None:
        self.action = action


class StopReading(Step):
    """Never read stdin again, so not even its end is noticed."""

    __slots__ = ()


class ExitAfterAnswer(Step):
    """Answer this prompt, then leave with this code."""

    __slots__ = ("code",)

    def __init__(self, code: int) -> None:
        self.code = code


class EndSession(Step):
    """Answer this prompt, then forget the session."""

    __slots__ = ()
