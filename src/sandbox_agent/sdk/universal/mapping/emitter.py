"""Numbers the events of the mapper and gives them stable ids.

Ids are counters, so the same messages give the same ids: `evt_<session>_<sequence>`, `itm_<n>`, `turn_<n>`,
`perm_<n>`, `quest_<n>`. A `legacyEvent` in the message's `_meta` sets the envelope of the principal event:
the first that is not synthetic, else the first.
"""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from typing import Any, NamedTuple

from msgspec import Struct

from sandbox_agent.sdk.universal.events import EVENT_CLASSES, EventType, UniversalEvent
from sandbox_agent.sdk.universal.meta import LegacyEvent, legacy_event_of

Time = datetime | int | str
"""A moment: a datetime, milliseconds since the epoch, or RFC 3339 text that is kept as it is."""


class _Draft(NamedTuple):
    type: EventType
    data: Struct
    synthetic: bool
    keep_raw: bool
    native_session_id: str | None


def rfc3339(moment: Time) -> str:
    """A moment as RFC 3339 in UTC with milliseconds."""
    if isinstance(moment, str):
        return moment
    if isinstance(moment, int):
        seconds, milliseconds = divmod(moment, 1000)
        moment = datetime.fromtimestamp(seconds, UTC).replace(microsecond=milliseconds * 1000)
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class Emitter:
    """Collects the events of one message at a time."""

    def __init__(self, session_id: str, native_session_id: str | None, include_raw: bool) -> None:
        self.session_id = session_id
        self.native_session_id = native_session_id
        self.sequence = 0
        self.time = ""
        """The time of the message that is being mapped."""
        self._include_raw = include_raw
        self._drafts: list[_Draft] = []
        self._counters: Counter[str] = Counter()
        self._named_events: set[str] = set()

    def emit(self, type: EventType, data: Struct, *, synthetic: bool = False, keep_raw: bool = False) -> None:
        """Add an event; `keep_raw` keeps the message with it even without `include_raw`."""
        self._drafts.append(_Draft(type, data, synthetic, keep_raw, self.native_session_id))

    def new_id(self, prefix: str) -> str:
        """The next id of a kind, such as `itm_1`."""
        self._counters[prefix] += 1
        return f"{prefix}_{self._counters[prefix]}"

    def finish(self, message: Any) -> list[UniversalEvent]:
        """The events emitted since the last call, with sequence and id."""
        drafts, self._drafts = self._drafts, []
        legacy = legacy_event_of(message) if drafts and isinstance(message, dict) else None
        principal = next((n for n, draft in enumerate(drafts) if not draft.synthetic), 0)
        return [
            self._event(draft, legacy if n == principal else None, message) for n, draft in enumerate(drafts)
        ]

    def _event(self, draft: _Draft, legacy: LegacyEvent | None, message: Any) -> UniversalEvent:
        self.sequence += 1
        synthetic = draft.synthetic
        event_id = source = native = None
        if legacy is not None:
            if legacy.sequence is not None and legacy.sequence > self.sequence:
                self.sequence = legacy.sequence
            if legacy.event_id is not None and legacy.event_id not in self._named_events:
                self._named_events.add(legacy.event_id)
                event_id = legacy.event_id
            synthetic = synthetic if legacy.synthetic is None else legacy.synthetic
            source, native = legacy.source, legacy.native_session_id
        return EVENT_CLASSES[draft.type](
            event_id=event_id or f"evt_{self.session_id}_{self.sequence}",
            sequence=self.sequence,
            time=self.time,
            session_id=self.session_id,
            native_session_id=native or draft.native_session_id,
            synthetic=synthetic,
            source=source or ("daemon" if synthetic else "agent"),
            type=draft.type,
            data=draft.data,
            raw=message if self._include_raw or draft.keep_raw else None,
        )
