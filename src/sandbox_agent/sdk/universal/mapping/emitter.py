"""Numbers the events of the mapper and gives them stable ids.

Ids are counters, so the same messages give the same ids: `evt_<session>_<sequence>`, `itm_<n>`, `turn_<n>`,
`perm_<n>`, `quest_<n>`. A `legacyEvent` in the message's `_meta` sets the envelope of the principal event:
the first that is not synthetic, else the first.
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from msgspec import Struct, structs

from sandbox_agent.sdk.universal.event_data import UnparsedData
from sandbox_agent.sdk.universal.events import EVENT_CLASSES, EventType, UniversalEvent
from sandbox_agent.sdk.universal.json_reading import json_text, sha256
from sandbox_agent.sdk.universal.meta import LegacyEvent, legacy_event_of

Time = datetime | int | str
"""A moment: a datetime, milliseconds since the epoch, or RFC 3339 text that is kept as it is."""


class EmitterState(Struct):
    """What the emitter remembers from message to message."""

    session_id: str
    native_session_id: str | None
    sequence: int = 0
    count: int = 0
    """How many events there were; a carried-over sequence may jump."""
    counters: dict[str, int] = {}
    named_events: set[str] = set()
    """The event ids that agents gave."""


def rfc3339(moment: Time) -> str:
    """A moment as RFC 3339 in UTC with milliseconds."""
    if isinstance(moment, str):
        return moment
    if isinstance(moment, int):
        return _rfc3339_ms(moment)
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


@lru_cache(maxsize=16)
def _rfc3339_ms(milliseconds: int) -> str:
    # Cached, because the messages of a stream arrive several in a millisecond.
    seconds, rest = divmod(milliseconds, 1000)
    return rfc3339(datetime.fromtimestamp(seconds, UTC).replace(microsecond=rest * 1000))


class Emitter:
    """Collects the events of one message at a time."""

    def __init__(self, state: EmitterState, *, include_raw: bool) -> None:
        self.state = state
        self.time = ""
        """The time of the message that is being mapped."""
        self.include_raw = include_raw
        self._message: Any = None
        self._events: list[UniversalEvent] = []

    def begin(self, message: Any, time: str) -> None:
        """Start to map a message."""
        self._message, self.time = message, time

    def emit(self, type: EventType, data: Struct, *, synthetic: bool = False, keep_raw: bool = False) -> None:
        """Add an event; `keep_raw` keeps the message with it even without `include_raw`."""
        state = self.state
        state.sequence += 1
        state.count += 1
        self._events.append(
            EVENT_CLASSES[type](
                event_id=f"evt_{state.session_id}_{state.sequence}",
                sequence=state.sequence,
                time=self.time,
                session_id=state.session_id,
                native_session_id=state.native_session_id,
                synthetic=synthetic,
                source="daemon" if synthetic else "agent",
                type=type,  # type: ignore[arg-type]
                data=data,  # type: ignore[arg-type]
                raw=self._message if self.include_raw or keep_raw else None,
            )
        )

    def unparsed(self, error: str, location: str, raw: Any) -> None:
        """Add the event for a message that cannot be read; `raw` is what its checksum is of."""
        raw_hash = sha256(raw if isinstance(raw, str) else json_text(raw))
        data = UnparsedData(error, location, raw_hash)
        self.emit("agent.unparsed", data, synthetic=True, keep_raw=True)

    def new_id(self, prefix: str) -> str:
        """The next id of a kind, such as `itm_1`."""
        number = self.state.counters[prefix] = self.state.counters.get(prefix, 0) + 1
        return f"{prefix}_{number}"

    def finish(self) -> list[UniversalEvent]:
        """The events emitted since the last call."""
        events, self._events = self._events, []
        if events and isinstance(self._message, dict):
            legacy = legacy_event_of(self._message)
            if legacy is not None:
                return self._with_envelope(events, legacy)
        return events

    def _with_envelope(self, events: list[UniversalEvent], legacy: LegacyEvent) -> list[UniversalEvent]:
        """The events with the envelope of a carried-over event for the principal one."""
        state = self.state
        principal = next((n for n, event in enumerate(events) if not event.synthetic), 0)
        ahead = max(0, (legacy.sequence or 0) - events[principal].sequence)
        state.sequence += ahead
        answer: list[UniversalEvent] = []
        for number, event in enumerate(events):
            changes: dict[str, Any] = {}
            if ahead and number >= principal:
                sequence = event.sequence + ahead
                changes |= {"sequence": sequence, "event_id": f"evt_{state.session_id}_{sequence}"}
            if number == principal:
                changes |= self._own_envelope(event, legacy)
            answer.append(structs.replace(event, **changes) if changes else event)
        return answer

    def _own_envelope(self, event: UniversalEvent, legacy: LegacyEvent) -> dict[str, Any]:
        synthetic = event.synthetic if legacy.synthetic is None else legacy.synthetic
        changes: dict[str, Any] = {
            "synthetic": synthetic,
            "source": legacy.source or ("daemon" if synthetic else "agent"),
        }
        if legacy.native_session_id is not None:
            changes["native_session_id"] = legacy.native_session_id
        if legacy.event_id is not None and legacy.event_id not in self.state.named_events:
            self.state.named_events.add(legacy.event_id)
            changes["event_id"] = legacy.event_id
        return changes
