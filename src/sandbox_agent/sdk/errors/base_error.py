"""The base of all errors of the SDK: its facts are attributes, and it can be pickled."""

from __future__ import annotations

from typing import Any, Self


class SandboxAgentError(Exception):
    """The base class of all errors of this library."""

    result: Any = None
    """For an error of a turn: the `TurnResult` so far, with the text and events before the error."""

    def again(self) -> Self:
        """The same error as another object: each caller that raises it has a traceback of its own."""
        copy: Self = _rebuild(type(self), self.args, dict(self.__dict__))
        copy.__cause__ = self.__cause__
        return copy

    def __reduce__(self) -> tuple[Any, ...]:
        # Constructors differ from `args`, so the object is rebuilt from its attributes instead.
        state = {**self.__dict__, "response": None} if "response" in self.__dict__ else self.__dict__
        return (_rebuild, (type(self), self.args, state))


def _rebuild(kind: type[Any], args: tuple[Any, ...], state: dict[str, Any]) -> Any:
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(state)
    return error


def listed(values: list[str]) -> str:
    """Values for the text of an error."""
    return ", ".join(values) if values else "nothing"
