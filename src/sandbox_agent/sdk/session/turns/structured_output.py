"""Structured output: an answer as a value of a type, checked, with one turn to repair it.

ACP has no field for it, so the prompt carries the JSON schema, and the answer is looked for in the text.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, fields
from typing import Any, Generic, TypeVar

from sandbox_agent.sdk.errors import OutputError
from sandbox_agent.sdk.session.turns import content_blocks
from sandbox_agent.sdk.session.turns.content_blocks import Block, Prompt
from sandbox_agent.sdk.session.turns.turn_result import TurnResult
from sandbox_agent.sdk.typed_json import TypedJson
from sandbox_agent.sdk.universal.usage import summed

T = TypeVar("T")

_FENCED = re.compile(r"```[a-zA-Z]*[ \t]*\n(.*?)```", re.DOTALL)
_REQUEST = """\
Your final message must be one JSON value that matches this JSON schema, without any other text:
{schema}"""
_REPAIR = """\
The answer was not accepted: {problem}
Answer again with only one JSON value that matches this JSON schema:
{schema}"""

SendTurn = Callable[[list[Block], float | None], Awaitable[TurnResult]]
"""Sends a prompt with a time limit, and waits for the end of its turn."""


@dataclass(frozen=True, slots=True)
class StructuredResult(TurnResult, Generic[T]):
    """The result of a prompt with `output`; after a repair it covers both turns, with the last `text`."""

    output: T
    """The answer as a value of the wanted type."""


async def prompt_for_output(
    wanted: TypedJson[T], prompt: Prompt, timeout_s: float | None, send: SendTurn
) -> StructuredResult[T]:
    """Ask for a value; raises `OutputError` with the result if two answers do not fit."""
    schema = json.dumps(wanted.schema)
    began = time.monotonic()
    request = content_blocks.text(_REQUEST.format(schema=schema))
    first = await send([*content_blocks.prompt_blocks(prompt), request], timeout_s)
    try:
        return _with_output(first, find_output(wanted, first.text))
    except ValueError as error:
        problem = str(error)
    if first.stop_reason != "end_turn":
        raise _failure(wanted, f"the turn ended with {first.stop_reason!r} and {problem}", first)
    left = None if timeout_s is None else max(timeout_s - (time.monotonic() - began), 0.001)
    repair = content_blocks.text(_REPAIR.format(problem=problem, schema=schema))
    result = joined(first, await send([repair], left))
    try:
        return _with_output(result, find_output(wanted, result.text))
    except ValueError as error:
        raise _failure(wanted, str(error), result) from error


def find_output(wanted: TypedJson[T], text: str) -> T:
    """The value in an answer; raises `ValueError` that says what is wrong with the likeliest candidate."""
    problem = "it contains no JSON"
    for candidate in candidates(text):
        try:
            return wanted.decode(candidate)
        except ValueError as error:
            if problem == "it contains no JSON" and _is_json(candidate):
                problem = str(error)
    raise ValueError(problem)


def candidates(text: str) -> Iterator[str]:
    """The texts that may be the answer, the likeliest first: all of it, code blocks, values in the prose."""
    yield text.strip()
    for block in reversed(_FENCED.findall(text)):
        yield block.strip()
    yield from reversed(list(_embedded_values(text)))


def _embedded_values(text: str) -> Iterator[str]:
    """The outermost JSON objects and arrays in a text."""
    decoder = json.JSONDecoder()
    position = 0
    while (match := re.compile(r"[{\[]").search(text, position)) is not None:
        try:
            _, position = decoder.raw_decode(text, match.start())
            yield text[match.start() : position]
        except (ValueError, RecursionError):
            position = match.end()


def joined(first: TurnResult, second: TurnResult) -> TurnResult:
    """Two turns as one result: the second answer, and everything that both did and used."""
    return TurnResult(
        stop_reason=second.stop_reason,
        text=second.text,
        usage=summed(first.usage, second.usage),
        turn_id=second.turn_id,
        items=[*first.items, *second.items],
        events=[*first.events, *second.events],
        raw=second.raw,
    )


def _with_output(result: TurnResult, output: T) -> StructuredResult[T]:
    known: dict[str, Any] = {one.name: getattr(result, one.name) for one in fields(TurnResult)}
    return StructuredResult(**known, output=output)


def _failure(wanted: TypedJson[Any], problem: str, result: TurnResult) -> OutputError:
    error = OutputError(wanted.name, problem)
    error.result = result
    return error


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
