"""Checks the values of keyword options by their annotations, before anything is started or sent.

Only the outer kind is checked: a number, a text, a function, a mapping, one of several texts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

_WORDS: dict[Any, str] = {
    float: "a number",
    int: "a whole number",
    bool: "True or False",
    str: "a text",
    Callable: "a function",
    Mapping: "a mapping",
}


def check_values(options: Mapping[str, Any], annotated: type, names: Iterable[str] | None = None) -> None:
    """Raise `TypeError` for a value that is of another kind than `annotated`, a `TypedDict`, says."""
    for name, hint in _hints(annotated).items():
        if name in options and (names is None or name in names) and not _fits(options[name], hint):
            raise TypeError(f"{name} is {_described(hint)}, not {options[name]!r}")


@cache
def _hints(annotated: type) -> dict[str, Any]:
    return get_type_hints(annotated)


def _fits(value: Any, hint: Any) -> bool:
    kind = get_origin(hint) or hint
    if kind in (Union, UnionType):
        return any(_fits(value, one) for one in get_args(hint))
    if kind is Literal:
        return value in get_args(hint)
    if kind is Callable:
        return callable(value)
    if kind in (int, float):
        return isinstance(value, int | kind) and not isinstance(value, bool)
    return not isinstance(kind, type) or isinstance(value, kind)


def _described(hint: Any) -> str:
    kind = get_origin(hint) or hint
    if kind in (Union, UnionType):
        return " or ".join(_described(one) for one in get_args(hint) if one is not NoneType)
    if kind is Literal:
        return "one of " + ", ".join(map(repr, get_args(hint)))
    return _WORDS.get(kind) or f"a {kind.__name__}"
