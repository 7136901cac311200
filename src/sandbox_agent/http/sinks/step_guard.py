"""The one place through which everything passes that is done for a request.

That is its body, an answer of the agent, the result of a worker thread, a timer, a client that can take more
or has left. An exception in any of them would otherwise end in the event loop, which can only log it, and the
request would have no answer. The handler itself (`http1.connection`) and the pump of event streams, which are
called most, have the same lines inline.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from sandbox_agent.http.sinks.response_sink import ResponseSink


def run_guarded(sink: ResponseSink, step: Callable[..., object], *arguments: object) -> None:
    """Call `step`; whatever it raises fails the response."""
    try:
        step(*arguments)
    except Exception as error:
        sink.fail(error)
