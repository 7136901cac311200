"""`@tool`: a Python function that an agent can call."""

from __future__ import annotations

import asyncio
import inspect
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, get_type_hints, overload

import msgspec

from sandbox_agent.sdk.typed_json import TypedJson, to_json

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


@dataclass(frozen=True, slots=True)
class Tool:
    """A function with its name, description and JSON schema; made by `tool`."""

    name: str
    description: str
    schema: Mapping[str, Any] = field(repr=False)
    function: Callable[..., Any] = field(repr=False)
    arguments: TypedJson[Any] | None = field(repr=False)
    """Checks the arguments; None for a schema of the caller."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function itself."""
        return self.function(*args, **kwargs)

    async def run(self, arguments: Mapping[str, Any]) -> str:
        """The result for an agent, as text: JSON unless the function returns a text.

        Raises `ValueError` for arguments that do not fit, and whatever the function raises.
        """
        given = dict(arguments)
        if self.arguments is not None:
            given = msgspec.structs.asdict(self.arguments.convert(given))
        if inspect.iscoroutinefunction(self.function):
            result = await self.function(**given)
        else:
            # It may block, and this is the loop that also reads the agent's messages.
            result = await asyncio.to_thread(self.function, **given)
            result = await result if inspect.isawaitable(result) else result
        return result if isinstance(result, str) else to_json(result)


@overload
def tool(function: Callable[..., Any], /) -> Tool: ...


@overload
def tool(
    *, name: str | None = None, description: str | None = None, schema: Mapping[str, Any] | None = None
) -> Callable[[Callable[..., Any]], Tool]: ...


def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    schema: Mapping[str, Any] | None = None,
) -> Tool | Callable[[Callable[..., Any]], Tool]:
    """Make a function a tool: `@tool`, or `@tool(name="...")`.

    The schema of the arguments comes from the annotations, the description from the docstring. A plain
    function runs in a thread. With `schema` the function gets the arguments unchecked.
    """

    def make(wrapped: Callable[..., Any]) -> Tool:
        own_name = name or wrapped.__name__
        if not _NAME.fullmatch(own_name):
            raise ValueError(f"a tool's name has letters, digits, `_` and `-`, at most 64; not {own_name!r}")
        arguments = None if schema is not None else _arguments(wrapped, own_name)
        described = description or inspect.getdoc(wrapped) or ""
        known = schema if schema is not None or arguments is None else _inlined(arguments.schema)
        return Tool(own_name, described, known or {"type": "object"}, wrapped, arguments)

    return make if function is None else make(function)


def as_tools(given: Iterable[Tool | Callable[..., Any]]) -> tuple[Tool, ...]:
    """The tools of a session; plain functions become tools. Raises `TypeError` or `ValueError`."""
    if isinstance(given, str | Mapping) or not isinstance(given, Iterable):
        raise TypeError(f"tools is a list of functions, not {given!r}")
    tools: list[Tool] = []
    for one in given:
        if not callable(one):
            raise TypeError(f"a tool is a function, not {one!r}")
        tools.append(one if isinstance(one, Tool) else tool(one))
    names = [one.name for one in tools]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"several tools are named {', '.join(twice)}")
    return tuple(tools)


def _arguments(function: Callable[..., Any], name: str) -> TypedJson[Any]:
    """The parameters of a function as a struct, which knows their schema and checks them."""
    hints = get_type_hints(function, include_extras=True)
    fields: list[tuple[str, Any] | tuple[str, Any, Any]] = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind not in _NAMED:
            raise TypeError(f"the tool {name!r} cannot have the parameter {parameter}: agents pass names")
        kind = hints.get(parameter.name, Any)
        if parameter.default is inspect.Parameter.empty:
            fields.append((parameter.name, kind))
        else:
            fields.append((parameter.name, kind, _default(parameter.default)))
    struct = msgspec.defstruct(f"{name}_arguments", fields, kw_only=True, forbid_unknown_fields=True)
    try:
        return TypedJson(struct)
    except TypeError as error:
        raise TypeError(f"the parameters of the tool {name!r} have no JSON schema: {error}") from error


def _default(value: Any) -> Any:
    """A default value of a struct; lists and dictionaries are made anew for each call."""
    if isinstance(value, list | dict | set):
        return msgspec.field(default_factory=lambda: type(value)(value))
    return value


def _inlined(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of the arguments itself, not a reference to it: agents expect `type: object` at the top."""
    definitions = dict(schema.get("$defs") or {})
    reference = str(schema.get("$ref") or "")
    top = definitions.pop(reference.rpartition("/")[2], None) if reference else dict(schema)
    found = {key: value for key, value in (top or {}).items() if key != "title"}
    return {**found, "$defs": definitions} if definitions and "$defs" not in found else found


ToolFunction = Tool | Callable[..., Any | Awaitable[Any]]
