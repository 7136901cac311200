"""How one endpoint is described: parameters, bodies, answers and the errors it can give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sandbox_agent.errors import SandboxAgentError

Schema = Mapping[str, Any] | type[Any]
"""Either JSON Schema itself or a type that msgspec can turn into it."""

JSON = "application/json"


@dataclass(frozen=True)
class Parameter:
    """A query parameter or (`where="header"`) a request header."""

    name: str
    description: str
    required: bool = False
    schema: Mapping[str, Any] = field(default_factory=lambda: {"type": "string"})
    example: Any = None
    where: str = "query"


@dataclass(frozen=True)
class Content:
    """A body of a request or an answer: its shape and an example (or several, by name)."""

    schema: Schema
    example: Any = None
    media_type: str = JSON
    examples: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Answer:
    description: str
    content: Sequence[Content] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    """Name and description; all of them are strings."""
    links: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """OpenAPI links: what can be done next with what this answer, or its request, has named."""


@dataclass(frozen=True)
class Operation:
    """What one method on one path does, takes and answers."""

    id: str
    tag: str
    summary: str
    answers: Mapping[int, Answer]
    errors: Sequence[type[SandboxAgentError]] = ()
    description: str = ""
    parameters: Sequence[Parameter] = ()
    body: Sequence[Content] = ()
    body_required: bool = True
    path_parameters: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Name of each `{...}` segment, its description and an example."""
    with_head: bool = False
    """Also describe HEAD, where it has a use of its own."""
    open: bool = False
    """No token needed."""
