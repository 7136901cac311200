"""Something that is opened by a coroutine and closed by a block.

`client = await AsyncSandboxAgent.start()` and `async with AsyncSandboxAgent.start() as client` both work. It
is a coroutine for everything that takes one, such as `asyncio.create_task`.
"""

from __future__ import annotations

from collections.abc import Coroutine, Generator
from types import TracebackType
from typing import Any, Protocol, TypeVar


class Closable(Protocol):
    """An object with an `async with` block of its own."""

    async def __aexit__(self, *_: object) -> None: ...


T = TypeVar("T", bound=Closable)


class Opening(Coroutine[Any, Any, T]):
    """The coroutine that opens a client or a session."""

    def __init__(self, work: Coroutine[Any, Any, T]) -> None:
        self._work = work
        self._opened: T | None = None

    def __await__(self) -> Generator[Any, Any, T]:
        return self._work.__await__()

    def send(self, value: Any, /) -> Any:
        return self._work.send(value)

    def throw(self, *error: Any) -> Any:
        return self._work.throw(*error)

    def close(self) -> None:
        self._work.close()

    async def __aenter__(self) -> T:
        self._opened = await self._work
        return self._opened

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._opened is not None:
            await self._opened.__aexit__(exc_type, exc_value, traceback)
