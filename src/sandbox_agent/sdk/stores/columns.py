"""Tables and columns shared by SQLite and Postgres, and with the drivers of the reference.

The first columns of each table are those of the reference's drivers; the others are nullable and are added
to a table that lacks them, so that both libraries can use one database.
"""

from __future__ import annotations

from typing import Any

from sandbox_agent.sdk import json_codec
from sandbox_agent.sdk.stores.records import SessionRecord

SCHEMA_VERSION = 2

JSON_FIELDS = {
    "session_init": "session_init_json",
    "config_options": "config_options_json",
    "modes": "modes_json",
    "metadata": "metadata_json",
    "init_result": "init_result_json",
}
"""Fields of `SessionRecord` that are stored as JSON, and their columns."""

SESSION_FIELDS: tuple[str, ...] = (
    "id",
    "agent",
    "agent_session_id",
    "last_connection_id",
    "created_at",
    "destroyed_at",
    "session_init",
    "sandbox_id",
    "config_options",
    "modes",
    "title",
    "metadata",
    "server_id",
    "last_event_id",
    "init_result",
    "server_created_at",
    "archived_at",
)
ADDED_SESSION_COLUMNS = {
    "sandbox_id": "TEXT",
    "config_options_json": "JSON",
    "modes_json": "JSON",
    "title": "TEXT",
    "metadata_json": "JSON",
    "server_id": "TEXT",
    "last_event_id": "INTEGER",
    "init_result_json": "JSON",
    "server_created_at": "INTEGER",
    "archived_at": "INTEGER",
}
"""Columns in addition to those of the reference; the type names are keys of `TYPES_*`."""

SESSION_COLUMNS = tuple(JSON_FIELDS.get(field, field) for field in SESSION_FIELDS)
EVENT_COLUMNS = (
    "id",
    "event_index",
    "session_id",
    "created_at",
    "connection_id",
    "sender",
    "payload_json",
)
CHECKPOINT_COLUMNS = ("session_id", "event_index", "sequence", "version", "state")
TYPES_SQLITE = {"TEXT": "TEXT", "INTEGER": "INTEGER", "JSON": "TEXT"}
TYPES_POSTGRES = {"TEXT": "TEXT", "INTEGER": "BIGINT", "JSON": "JSONB"}


def create_statements(types: dict[str, str], prefix: str = "") -> list[str]:
    """Tables and indexes of the reference and of this SDK; `prefix` is a quoted schema name with its dot."""
    integer, json = types["INTEGER"], types["JSON"]
    return [
        f"CREATE TABLE IF NOT EXISTS {prefix}sessions (id TEXT PRIMARY KEY, agent TEXT NOT NULL, "
        f"agent_session_id TEXT NOT NULL, last_connection_id TEXT NOT NULL, created_at {integer} NOT NULL, "
        f"destroyed_at {integer}, session_init_json {json})",
        f"CREATE TABLE IF NOT EXISTS {prefix}events (id TEXT PRIMARY KEY, event_index {integer} NOT NULL, "
        f"session_id TEXT NOT NULL, created_at {integer} NOT NULL, connection_id TEXT NOT NULL, "
        f"sender TEXT NOT NULL, payload_json {json} NOT NULL)",
        f"CREATE INDEX IF NOT EXISTS idx_events_session_order ON {prefix}events(session_id, event_index, id)",
        "CREATE UNIQUE INDEX IF NOT EXISTS idx_events_session_index "
        f"ON {prefix}events(session_id, event_index)",
        f"CREATE TABLE IF NOT EXISTS {prefix}sandbox_agent_checkpoints (session_id TEXT NOT NULL, "
        f"event_index {integer} NOT NULL, sequence {integer} NOT NULL, version TEXT NOT NULL, "
        "state TEXT NOT NULL, PRIMARY KEY (session_id, event_index))",
    ]


def session_row(record: SessionRecord) -> list[Any]:
    """The values of a session in the order of `SESSION_COLUMNS`."""
    return [field_value(field, getattr(record, field)) for field in SESSION_FIELDS]


def field_value(field: str, value: Any) -> Any:
    """The stored form of one field."""
    return json_codec.encode_text(value) if field in JSON_FIELDS and value is not None else value


def session_record(row: Any) -> SessionRecord:
    """The session of a row in the order of `SESSION_COLUMNS`, JSON columns as text."""
    values = dict(zip(SESSION_FIELDS, row, strict=True))
    for field in JSON_FIELDS:
        if values[field] is not None:
            values[field] = json_codec.decode(values[field])
    return SessionRecord(**values)


def check_fields(changes: dict[str, Any]) -> None:
    """Raise `TypeError` for a change of the id or of a field that does not exist."""
    unknown = sorted(set(changes) - set(SESSION_FIELDS) | ({"id"} & set(changes)))
    if unknown:
        raise TypeError(f"a session has no field {', '.join(unknown)} that could be changed")
