"""Run one step of a request, so that an exception in it fails the response.

Steps are called by the event loop: the body has arrived, the agent has answered, a worker thread or a timer
has ended, the client can take more or has left. The loop can only log an exception, and the request would
have no answer. The handler (`http1.connection`) and the pump of event streams are called most and have the
same lines inline.
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
