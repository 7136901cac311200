"""What an endpoint declares about itself: parameters, bodies, responses and errors.

An `Operation` decorates its handler. The OpenAPI document is generated from these declarations, and handlers
read query parameters and headers through the same `Parameter` objects, so each name is written once. Every
schema comes from a Python type through msgspec.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_args

from msgspec import Meta

from sandbox_agent.errors import InvalidRequest, SandboxAgentError
from sandbox_agent.http.messages import Request, parse_number

if TYPE_CHECKING:
    from sandbox_agent.http.websocket import WebSocket

JSON = "application/json"
Binary = Annotated[str, Meta(extra_json_schema={"format": "binary"})]
"""The schema of a body that is bytes; msgspec would describe `bytes` as base64 text."""
NonBlank = Annotated[str, Meta(pattern=r"\S")]

Handler = TypeVar("Handler", bound=Callable[..., Any])
_declared: dict[Callable[..., Any], Operation] = {}


@dataclass(frozen=True)
class Parameter:
    """A parameter in the query, unless a subclass says otherwise. `aliases` are read but not documented."""

    name: str
    description: str
    example: Any = None
    type: Any = str
    aliases: tuple[str, ...] = ()
    required: bool = False
    location: str = "query"


class PathParameter(Parameter):
    """A `{name}` segment of the path."""

    def __init__(self, name: str, description: str, example: str) -> None:
        super().__init__(name, description, example, required=True, location="path")


class HeaderParameter(Parameter):
    def __init__(self, name: str, description: str, example: str | None = None) -> None:
        super().__init__(name, description, example, location="header")

    def read(self, request: Request) -> str | None:
        return request.header(self.name.lower().encode())


class OptionalText(Parameter):
    def read(self, request: Request) -> str | None:
        return request.query.get(self.name, *self.aliases)


class RequiredText(Parameter):
    """A parameter that must be given; with type `NonBlank` it must also hold more than white space."""

    def __init__(
        self, name: str, description: str, example: str, type: Any = str, aliases: tuple[str, ...] = ()
    ) -> None:
        super().__init__(name, description, example, type, aliases, required=True)

    def read(self, request: Request) -> str:
        value = request.query.require(self.name, *self.aliases)
        if self.type is NonBlank and not value.strip():
            raise InvalidRequest(f"missing required '{self.name}' query parameter")
        return value


@dataclass(frozen=True)
class BoundedInteger(Parameter):
    """A number within bounds, with a default."""

    default: int = 0
    minimum: int = 0
    maximum: int = 0

    def __post_init__(self) -> None:
        bounds = Meta(ge=self.minimum, le=self.maximum)
        object.__setattr__(self, "type", Annotated[int, bounds])  # the way of frozen dataclasses

    def read(self, request: Request) -> int:
        text = request.query.get(self.name, *self.aliases)
        if text is None:
            return self.default
        number = parse_number(text)
        if number is None:
            raise InvalidRequest(f"query parameter '{self.name}' must be a number")
        if not self.minimum <= number <= self.maximum:
            raise InvalidRequest(
                f"query parameter '{self.name}' must be between {self.minimum} and {self.maximum}"
            )
        return number


class Flag(Parameter):
    def __init__(self, name: str, description: str, example: bool) -> None:
        super().__init__(name, description, example, bool)

    def read(self, request: Request) -> bool:
        return request.query.flag(self.name, *self.aliases)


class Number(Parameter):
    """A non-negative integer."""

    def __init__(self, name: str, description: str, example: int) -> None:
        super().__init__(name, description, example, Annotated[int, Meta(ge=0)])

    def read(self, request: Request | WebSocket) -> int | None:
        value = request.query.get(self.name, *self.aliases)
        if value is None:
            return None
        number = parse_number(value)
        if number is None:
            raise InvalidRequest(f"query parameter '{self.name}' must be a non-negative integer")
        return number


class Choice(Parameter):
    """One of several words; `type` is their `Literal`."""

    def read(self, request: Request) -> str | None:
        value = request.query.get(self.name, *self.aliases)
        if value is not None and value not in get_args(self.type):
            words = ", ".join(get_args(self.type))
            raise InvalidRequest(f"query parameter '{self.name}' must be one of: {words}")
        return value


@dataclass(frozen=True)
class Content:
    """A body: its type (several: any of them) and an example, or several examples by name.

    Examples of JSON bodies are instances of the type, or what such an instance encodes to.
    """

    type: Any
    example: Any = None
    media_type: str = JSON
    examples: Mapping[str, Any] = field(default_factory=dict)
    description: str = ""


@dataclass(frozen=True)
class ResponseSpec:
    """One status of an operation. `headers` maps names to descriptions; all of them are strings."""

    description: str
    content: Sequence[Content] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    links: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """OpenAPI links: operations that take what this response, or its request, has named."""


@dataclass(frozen=True)
class Operation:
    """What one method on one path does, takes and returns. Used as the decorator of the handler."""

    id: str
    tag: str
    summary: str
    responses: Mapping[int, ResponseSpec]
    errors: Sequence[type[SandboxAgentError]] = ()
    description: str = ""
    parameters: Sequence[Parameter] = ()
    body: Content | None = None
    body_required: bool = True
    with_head: bool = False
    """Also describe HEAD, where it has a use of its own."""
    is_public: bool = False
    """No token needed."""

    def __call__(self, handler: Handler) -> Handler:
        _declared[handler] = self
        return handler

    @property
    def contents(self) -> list[Content]:
        """Every body, of the request and of the responses."""
        found = [content for response in self.responses.values() for content in response.content]
        return [self.body, *found] if self.body is not None else found


def declared_operations() -> Mapping[Callable[..., Any], Operation]:
    """The operations of all handlers that are loaded."""
    return _declared
