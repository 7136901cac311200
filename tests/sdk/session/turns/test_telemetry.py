"""OpenTelemetry: a span per prompt, and its context in `_meta`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from sandbox_agent import AgentExitedError, AsyncSandboxAgent


@pytest.fixture(scope="module")
def exporter() -> Iterator[InMemorySpanExporter]:
    spans = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    trace.set_tracer_provider(provider)
    yield spans
    provider.shutdown()


@pytest.mark.clause("spec2-5-trace-in-meta", "sdk-opentelemetry")
async def test_a_prompt_is_a_span_and_its_context_travels_in_meta(
    client: AsyncSandboxAgent, exporter: InMemorySpanExporter
) -> None:
    exporter.clear()
    session = await client.sessions.create("mock")
    await session.prompt("hello")
    (span,) = exporter.get_finished_spans()
    assert span.name == "invoke_agent mock"
    assert span.attributes is not None
    assert span.attributes["gen_ai.conversation.id"] == session.id
    assert span.attributes["gen_ai.request.model"] == "mock"
    assert span.attributes["sandbox_agent.stop_reason"] == "end_turn"
    assert span.attributes["sandbox_agent.usage.inputTokens"]
    sent = next(m for m in await session.raw_events() if m.get("method") == "session/prompt")
    assert span.context is not None
    trace_id = format(span.context.trace_id, "032x")
    assert sent["params"]["_meta"]["traceparent"].split("-")[1] == trace_id
    assert sent["params"]["_meta"]["sandboxagent.dev"]["turn"]


@pytest.mark.clause("sdk-opentelemetry")
async def test_a_failed_prompt_is_a_span_with_an_error(
    client: AsyncSandboxAgent, exporter: InMemorySpanExporter
) -> None:
    exporter.clear()
    session = await client.sessions.create("mock")
    with pytest.raises(AgentExitedError):
        await session.prompt("crash")
    (span,) = exporter.get_finished_spans()
    assert span.status.status_code is trace.StatusCode.ERROR
