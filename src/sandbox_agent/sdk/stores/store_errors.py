"""The errors of stores.

StoreError
├── StoreUnavailableError      it cannot be opened, reached or written
├── StoreCorruptError          the file is damaged or is not a store
├── StoreVersionError          it was written by a newer version of this library
├── StoreClosedError           it was used after close()
├── EventConflictError         another event has this index or this id
└── StoreDependencyError       the driver package is not installed
"""

from __future__ import annotations

from sandbox_agent.sdk.errors import SandboxAgentError


class StoreError(SandboxAgentError):
    """The store failed; the cause is attached."""


class StoreUnavailableError(StoreError):
    """The store cannot be opened, reached or written."""


class StoreCorruptError(StoreError):
    """The file is damaged or is not a store. It is never overwritten."""


class StoreVersionError(StoreError):
    """The store was written by a newer version of this library."""

    def __init__(self, where: str, found: int, known: int) -> None:
        self.found = found
        self.known = known
        super().__init__(
            f"{where} has schema version {found}, this library knows up to {known}; upgrade sandbox-agent"
        )


class StoreClosedError(StoreError):
    """The store was used after `close()`."""


class EventConflictError(StoreError):
    """Another event has this index in the session, or this id."""

    def __init__(self, session_id: str, event_index: int, event_id: str) -> None:
        self.session_id = session_id
        self.event_index = event_index
        self.event_id = event_id
        super().__init__(
            f"event {event_id!r} cannot have index {event_index} in session {session_id!r}: "
            "the index or the id belongs to another event"
        )


class StoreDependencyError(StoreError, ImportError):
    """The driver package is not installed."""
