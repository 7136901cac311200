"""The `_meta` contract: the keys this product uses in ACP's `_meta`, read and written in one place.

At the root: `traceparent`, `tracestate`, `baggage`. For the product: `_meta["sandboxagent.dev"]`. The
server reads neither. Functions that write return a new object and keep all other content of `_meta`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from msgspec import Struct

from sandbox_agent.sdk.universal.event_data import EventSource
from sandbox_agent.sdk.universal.items import ItemKind, ItemRole, Visibility
from sandbox_agent.sdk.universal.json_reading import as_dict, as_int, as_text

NAMESPACE = "sandboxagent.dev"
REASONING_VISIBILITY = "sandbox-agent/reasoningVisibility"
REPLAY_PREAMBLE = "Previous session history is replayed below"
"""The start of a replayed transcript; inspectors hide text that begins with it."""

_LARGEST_SEQUENCE = 2**53 - 1
"""The largest integer that every JSON reader represents exactly."""


class LegacyEvent(Struct, frozen=True, kw_only=True):
    """The envelope of an event carried over from an agent; absent parts are `None`."""

    event_id: str | None
    sequence: int | None
    source: EventSource | None
    synthetic: bool | None
    native_session_id: str | None


class ItemFacts(Struct, frozen=True, kw_only=True):
    """Facts about an item that the agent states in `_meta`."""

    item_id: str | None
    native_item_id: str | None
    parent_id: str | None
    kind: ItemKind | None
    role: ItemRole | None
    starts: bool


_NONE: dict[str, Any] = {}


def product_meta(holder: Any) -> dict[str, Any]:
    """`_meta["sandboxagent.dev"]` of an object, or an empty dict."""
    # Most messages have no `_meta`, and every chunk of a message is asked several times.
    if not isinstance(holder, dict) or "_meta" not in holder:
        return _NONE
    return as_dict(as_dict(holder["_meta"]).get(NAMESPACE))


def with_meta(target: Mapping[str, Any], /, **keys: Any) -> dict[str, Any]:
    """A copy of `target` with these keys in the product's namespace; keys that are `None` are left out."""
    wanted = {key: value for key, value in keys.items() if value is not None}
    if not wanted:
        return dict(target)
    root = as_dict(target.get("_meta"))
    return {**target, "_meta": {**root, NAMESPACE: {**as_dict(root.get(NAMESPACE)), **wanted}}}


def with_trace(target: Mapping[str, Any], context: Mapping[str, str], /) -> dict[str, Any]:
    """A copy of `target` with the trace context (`traceparent`, ...) at the root of `_meta`."""
    return {**target, "_meta": {**as_dict(target.get("_meta")), **context}} if context else dict(target)


def with_session_request(
    params: Mapping[str, Any],
    /,
    *,
    agent: str,
    requested_session_id: str | None = None,
    agent_version: str | None = None,
    title: str | None = None,
    skills: Any = None,
    directory_config: bool = False,
    permission_mode: str | None = None,
    mode: str | None = None,
    model: str | None = None,
) -> dict[str, Any]:
    """Parameters of `session/new` with the legacy fields that ACP lacks."""
    return with_meta(
        params,
        agent=agent,
        requestedSessionId=requested_session_id,
        agentVersionRequested=agent_version,
        title=title,
        skills=skills,
        directoryConfig=directory_config or None,
        permissionMode=permission_mode,
        agentMode=mode,
        model=model,
    )


def with_turn(params: Mapping[str, Any], /, turn_id: str) -> dict[str, Any]:
    """Parameters of `session/prompt` that name the turn."""
    return with_meta(params, turn=turn_id)


def with_connection(params: Mapping[str, Any], /, connection_id: str) -> dict[str, Any]:
    """Parameters of a request that name the connection it is sent on."""
    return with_meta(params, connectionId=connection_id)


def connection_id_of(message: Any) -> str | None:
    """The connection that a message names: in its parameters, its result or itself."""
    fields = as_dict(message)
    for holder in (fields.get("params"), fields.get("result"), fields):
        if (found := as_text(product_meta(holder).get("connectionId"))) is not None:
            return found
    return None


def with_filename(block: Mapping[str, Any], /, filename: str) -> dict[str, Any]:
    """A content block with the file name of the attachment."""
    return with_meta(block, filename=filename)


def as_replay(block: Mapping[str, Any], /) -> dict[str, Any]:
    """A content block marked as a replayed transcript, which the mapper and UIs skip."""
    return with_meta(block, replay=True)


def is_replay(block: Any) -> bool:
    """Whether a content block is a replayed transcript."""
    text = as_dict(block).get("text")
    return product_meta(block).get("replay") is True or (
        isinstance(text, str) and text.startswith(REPLAY_PREAMBLE)
    )


def reasoning_visibility(update: Any) -> Visibility:
    """Whether a thought is public or private."""
    root = as_dict(as_dict(update).get("_meta"))
    value = root.get(REASONING_VISIBILITY, product_meta(update).get("reasoningVisibility"))
    return "private" if value == "private" else "public"


def turn_id_of(params: Any) -> str | None:
    """The turn id in a prompt: a string, or an object with `turn_id`."""
    turn = product_meta(params).get("turn")
    return as_text(turn) or as_text(as_dict(turn).get("turn_id")) or as_text(as_dict(turn).get("turnId"))


NO_FACTS = ItemFacts(item_id=None, native_item_id=None, parent_id=None, kind=None, role=None, starts=False)
_KINDS, _ROLES = get_args(ItemKind), get_args(ItemRole)


def item_facts(holder: dict[str, Any]) -> ItemFacts:
    """The item facts in `_meta`: in the product's namespace, else at the root."""
    if "_meta" not in holder:
        return NO_FACTS
    facts = {**as_dict(holder["_meta"]), **product_meta(holder)}
    kind, role = facts.get("kind"), facts.get("role")
    return ItemFacts(
        item_id=as_text(facts.get("item_id")),
        native_item_id=as_text(facts.get("native_item_id")),
        parent_id=as_text(facts.get("parent_id")),
        kind=kind if kind in _KINDS else None,
        role=role if role in _ROLES else None,
        starts=facts.get("phase") == "started",
    )


def legacy_event_of(message: Mapping[str, Any]) -> LegacyEvent | None:
    """The `legacyEvent` of a message, in any `_meta` that ACP allows."""
    params, error = as_dict(message.get("params")), as_dict(message.get("error"))
    holders = (params, params.get("update"), message.get("result"), error.get("data"), message)
    for holder in holders:
        found = product_meta(holder).get("legacyEvent")
        if isinstance(found, dict):
            sequence, source, synthetic = (
                as_int(found.get("sequence")),
                found.get("source"),
                found.get("synthetic"),
            )
            return LegacyEvent(
                event_id=as_text(found.get("eventId")),
                sequence=sequence if sequence is not None and sequence <= _LARGEST_SEQUENCE else None,
                source=source if source in get_args(EventSource) else None,
                synthetic=synthetic if isinstance(synthetic, bool) else None,
                native_session_id=as_text(found.get("nativeSessionId")),
            )
    return None


def tool_name_of(tool_call: Any) -> str | None:
    """The name of the tool: ACP's `name`, else what the agent has in `_meta`, up to two levels down."""
    fields = as_dict(tool_call)
    if (name := as_text(fields.get("name"))) is not None:
        return name
    root = as_dict(fields.get("_meta"))
    inner = [(key, as_dict(root[key])) for key in sorted(root)]
    deeper = [(key, as_dict(place[key])) for _, place in inner for key in sorted(place)]
    for key, place in [("", root), *inner, *deeper]:
        # Some agents have an object for the tool, such as `x.ai/tool`, with its name in it.
        own = as_text(place.get("name")) if "tool" in key.lower() else None
        found = as_text(place.get("toolName")) or as_text(place.get("tool_name")) or own
        if found:
            return found
    return None


def parent_call_of(update: dict[str, Any]) -> str | None:
    """The tool call whose sub-agent sent an update, where the agent says so in `_meta`."""
    root = as_dict(update.get("_meta"))
    for place in (root, *map(as_dict, root.values())):
        for key in ("parentToolUseId", "parent_tool_use_id", "parentToolCallId"):
            if (found := as_text(place.get(key))) is not None:
                return found
    return None
