"""Universal events carried in `_meta` of the ACP message that stands for them.

An agent, adapter or gateway that has universal events puts `carry_over(event)` into the
`_meta["sandboxagent.dev"]` of the message it sends; the mapper then restores the event's id, sequence,
source and item ids.
"""

from __future__ import annotations

from typing import Any

import msgspec

from sandbox_agent.sdk.universal.event_data import (
    ErrorData,
    ItemData,
    ItemDeltaData,
    PermissionData,
    QuestionData,
    SessionEndedData,
    TurnData,
    UnparsedData,
)
from sandbox_agent.sdk.universal.events import UniversalEvent
from sandbox_agent.sdk.universal.items import UniversalItem
from sandbox_agent.sdk.universal.json_reading import as_dict, as_text


def legacy_event(event: UniversalEvent) -> dict[str, Any]:
    """The envelope of an event."""
    return {
        "eventId": event.event_id,
        "sequence": event.sequence,
        "source": event.source,
        "synthetic": event.synthetic,
        "nativeSessionId": event.native_session_id,
    }


def carry_over(event: UniversalEvent) -> dict[str, Any]:
    """The content of `_meta["sandboxagent.dev"]`: the envelope, and the fields that ACP lacks."""
    return {"legacyEvent": legacy_event(event), **_facts(event)}


def _facts(event: UniversalEvent) -> dict[str, Any]:
    match event.data:
        case SessionEndedData() as ended:
            return {"sessionEnded": msgspec.to_builtins(ended)}
        case TurnData(phase="started") as turn:
            return {"turn": turn.turn_id}
        case TurnData() as turn:
            stop_reason = as_text(as_dict(turn.metadata).get("stopReason"))
            return {"turn": turn.turn_id, "phase": turn.phase, "stopReason": stop_reason}
        case ItemData(item=item) if event.type == "item.started":
            return {**_item_facts(item), "phase": "started"}
        case ItemData(item=item) if event.type == "item.updated":
            return _item_facts(item)
        case ItemData(item=item):
            return {**_item_facts(item), "item": msgspec.to_builtins(item)}
        case ItemDeltaData() as delta:
            return {"item_id": delta.item_id, "native_item_id": delta.native_item_id}
        case ErrorData() as error:
            return {"code": error.code, "details": error.details}
        case PermissionData() as permission:
            return {"permission": _permission_facts(permission)}
        case QuestionData() as question:
            facts = {"questionId": question.question_id, "status": question.status}
            return {"question": {**facts, "response": question.response}}
        case UnparsedData() as unparsed:
            return {"rawHash": unparsed.raw_hash}
    return {}


def _item_facts(item: UniversalItem) -> dict[str, Any]:
    return {
        "item_id": item.item_id,
        "native_item_id": item.native_item_id,
        "parent_id": item.parent_id,
        "kind": item.kind,
        "role": item.role,
    }


def _permission_facts(permission: PermissionData) -> dict[str, Any]:
    metadata = as_dict(permission.metadata)
    return {
        "permissionId": permission.permission_id,
        "requestId": metadata.get("request_id"),
        "optionId": as_dict(metadata.get("selected_option")).get("optionId"),
        "status": permission.status,
    }
