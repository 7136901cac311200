"""`--map LOCAL=REMOTE`: working directories of the editor become directories of the server, and back.

Only the directories of a session are replaced: `cwd` and `additionalDirectories` in the parameters of the
requests that open or list sessions, and in the sessions that `session/list` returns. Every other byte of the
message stays as it is, and so do paths in prompts, tool calls, diffs and methods of vendors.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

_KEYS = ("cwd", "additionalDirectories")
_METHODS = frozenset(f"session/{name}" for name in ("new", "load", "resume", "fork", "list"))
_MARKERS = tuple(f'"{key}"'.encode() for key in _KEYS)
_DECODER = json.JSONDecoder()
_BLANKS = " \t\n\r"

Replace = Callable[[str], str]


class _Value(NamedTuple):
    """A value in a JSON text, with its position."""

    value: Any
    start: int
    end: int


class DirectoryMap:
    def __init__(self, pairs: Sequence[tuple[str, str]]) -> None:
        # The longest directory first: a mapped directory may lie inside another one.
        self._to_remote = sorted(pairs, key=lambda pair: len(pair[0]), reverse=True)
        self._to_local = sorted(((b, a) for a, b in pairs), key=lambda pair: len(pair[0]), reverse=True)

    @classmethod
    def parse(cls, texts: Sequence[str]) -> DirectoryMap:
        """Raises ValueError."""
        pairs = []
        for text in texts:
            local, separator, remote = text.partition("=")
            if not separator or not local.startswith("/") or not remote.startswith("/"):
                raise ValueError(f"--map needs LOCAL=REMOTE with two absolute paths, not '{text}'")
            pairs.append((local.rstrip("/"), remote.rstrip("/")))
        return cls(pairs)

    def to_remote(self, message: bytes) -> bytes:
        """A message of the editor as the server gets it."""
        if not self._to_remote or not _may_concern(message):
            return message
        return _rewrite(message, _of_request, lambda path: _mapped(path, self._to_remote))

    def to_local(self, message: bytes) -> bytes:
        """A message of the agent as the editor gets it: the answer to `session/list` names directories."""
        if not self._to_local or not _may_concern(message) or b'"sessions"' not in message:
            return message
        return _rewrite(message, _of_answer, lambda path: _mapped(path, self._to_local))


def _may_concern(message: bytes) -> bool:
    """Whether the message may name a directory of a session; most do not and are not parsed."""
    return any(marker in message for marker in _MARKERS)


def _mapped(path: str, pairs: Sequence[tuple[str, str]]) -> str:
    for source, target in pairs:
        if path == source or path.startswith(source + "/"):
            return (target + path[len(source) :]).rstrip("/") or "/"
    return path


def _rewrite(message: bytes, find: Callable[[str], Iterator[_Value]], replace: Replace) -> bytes:
    """The message with the directories that `find` gives replaced; unchanged if it cannot be parsed."""
    try:
        text = message.decode()
        found = list(find(text))
    except (ValueError, RecursionError, IndexError):
        return message  # The agent decides what to do with it.
    for one in sorted(found, key=lambda directory: directory.start, reverse=True):
        replaced = replace(one.value)
        if replaced != one.value:
            text = text[: one.start] + json.dumps(replaced, ensure_ascii=False) + text[one.end :]
    return text.encode()


def _of_request(text: str) -> Iterator[_Value]:
    members = list(_members(text, _skip(text, 0)))
    if any(key == "method" and str(body.value) in _METHODS for key, body in members):
        for key, body in members:
            if key == "params" and isinstance(body.value, dict):
                yield from _of_session(text, body)


def _of_answer(text: str) -> Iterator[_Value]:
    for key, body in _members(text, _skip(text, 0)):
        if key != "result" or not isinstance(body.value, dict):
            continue
        for inner, listed in _members(text, body.start):
            if inner == "sessions" and isinstance(listed.value, list):
                for session in _elements(text, listed.start):
                    if isinstance(session.value, dict):
                        yield from _of_session(text, session)


def _of_session(text: str, body: _Value) -> Iterator[_Value]:
    for key, found in _members(text, body.start):
        if key == "cwd" and isinstance(found.value, str):
            yield found
        elif key == "additionalDirectories" and isinstance(found.value, list):
            yield from (one for one in _elements(text, found.start) if isinstance(one.value, str))


def _members(text: str, at: int) -> Iterator[tuple[str, _Value]]:
    """The members of the object that begins at `at`."""
    if text[at] != "{":
        return
    at = _skip(text, at + 1)
    while text[at] != "}":
        key, at = _DECODER.raw_decode(text, at)
        value = _value(text, _skip(text, at) + 1)
        yield key, value
        at = _after_comma(text, value.end)


def _elements(text: str, at: int) -> Iterator[_Value]:
    """The elements of the array that begins at `at`."""
    at = _skip(text, at + 1)
    while text[at] != "]":
        value = _value(text, at)
        yield value
        at = _after_comma(text, value.end)


def _value(text: str, at: int) -> _Value:
    start = _skip(text, at)
    value, end = _DECODER.raw_decode(text, start)
    return _Value(value, start, end)


def _after_comma(text: str, at: int) -> int:
    at = _skip(text, at)
    return _skip(text, at + 1) if text[at] == "," else at


def _skip(text: str, at: int) -> int:
    while text[at] in _BLANKS:
        at += 1
    return at
