"""A stored session as a transcript, without an agent or a server."""

from __future__ import annotations

from sandbox_agent.sdk.errors import SessionNotFoundError
from sandbox_agent.sdk.session.config.config_options import option_by_category, parse_options
from sandbox_agent.sdk.session.history.checkpoints import MappedHistory, map_on
from sandbox_agent.sdk.stores import SessionRecord, SessionStore
from sandbox_agent.sdk.transcripts.conversation_steps import StepReader
from sandbox_agent.sdk.transcripts.spending import Spending
from sandbox_agent.sdk.transcripts.transcript import (
    Transcript,
    TranscriptFormat,
    check_format,
    write_transcript,
)
from sandbox_agent.sdk.universal import UniversalMapper, meta
from sandbox_agent.sdk.universal.json_reading import as_dict, as_text


async def export_session(store: SessionStore, session_id: str, format: TranscriptFormat = "markdown") -> str:
    """The transcript of a stored session as text; raises `SessionNotFoundError`.

    `markdown` is for readers, `chat` one line of JSON with chat messages for training, `atif` a trajectory of
    Harbor's format. Needs no agent and no server.
    """
    check_format(format)
    record = await store.get_session(session_id)
    if record is None:
        raise SessionNotFoundError(session_id)
    steps, spending = StepReader(), Spending()
    history = MappedHistory(UniversalMapper(record.id, agent=record.agent))
    async for message, events in map_on(store, record.id, history):
        spending.take(message.payload)
        for event in events:
            steps.take(event)
    return write_transcript(_transcript(record, steps, spending), format)


def _transcript(record: SessionRecord, steps: StepReader, spending: Spending) -> Transcript:
    wanted = record.session_init or {}
    option = option_by_category(parse_options(record.config_options), "model")
    model = option.current_value if option is not None else meta.product_meta(wanted).get("model")
    return Transcript(
        session_id=record.id,
        agent=record.agent,
        steps=steps.steps(),
        agent_version=as_text(as_dict(as_dict(record.init_result).get("agentInfo")).get("version")),
        model=as_text(model),
        title=record.title,
        directory=as_text(wanted.get("cwd")),
        created_at=record.created_at,
        usage=spending.usage,
        cost_usd=spending.cost_usd,
    )
