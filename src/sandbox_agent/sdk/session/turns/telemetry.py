"""A span per prompt, if OpenTelemetry is installed (`pip install sandbox-agent[otel]`).

The trace context is sent to the agent in the root of `_meta`, as ACP reserves it. Without the package or
without a configured tracer nothing happens.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class PromptSpan:
    """The span of a running prompt."""

    def __init__(self, span: Any = None, trace_context: dict[str, str] | None = None) -> None:
        self._span = span
        self.trace_context = trace_context or {}
        """`traceparent`, `tracestate` and `baggage`, for the root of `_meta`."""

    def finished(self, stop_reason: str, usage: dict[str, Any] | None) -> None:
        if self._span is not None:
            self._span.set_attribute("sandbox_agent.stop_reason", stop_reason)
            for name, value in (usage or {}).items():
                if isinstance(value, int | float | str):
                    self._span.set_attribute(f"sandbox_agent.usage.{name}", value)


@contextmanager
def prompt_span(
    *, agent: str, session_id: str, native_session_id: str, model: str | None
) -> Iterator[PromptSpan]:
    """The span around one prompt; errors are recorded on it."""
    try:
        # An optional dependency that takes time to import.
        from opentelemetry import propagate, trace
    except ImportError:
        yield PromptSpan()
        return
    if isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):  # none is configured
        yield PromptSpan()
        return
    attributes = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": agent,
        "gen_ai.conversation.id": session_id,
        "sandbox_agent.native_session_id": native_session_id,
        **({"gen_ai.request.model": model} if model else {}),
    }
    tracer = trace.get_tracer("sandbox_agent")
    with tracer.start_as_current_span(
        f"invoke_agent {agent}", kind=trace.SpanKind.CLIENT, attributes=attributes
    ) as span:
        carrier: dict[str, str] = {}
        propagate.inject(carrier)
        yield PromptSpan(span, carrier)
