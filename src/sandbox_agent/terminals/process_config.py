"""The limits of processes that users start; clients may read and replace them while the server runs."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

Limit = Annotated[int, Meta(ge=1, le=2**63 - 1)]


class ProcessConfig(msgspec.Struct, rename="camel", kw_only=True, frozen=True):
    max_concurrent_processes: Limit
    """Running processes, those of `run` included."""
    default_run_timeout_ms: Limit
    max_run_timeout_ms: Limit
    max_output_bytes: Limit
    """What `run` keeps of stdout, and of stderr."""
    max_log_bytes_per_process: Limit
    """The part of a log in memory; the rest goes to disk. A process keeps the value of its start."""
    max_input_bytes_per_request: Limit

    def consistent(self) -> ProcessConfig:
        """The same with a default time-out that is not above the longest one."""
        default_ms = min(self.default_run_timeout_ms, self.max_run_timeout_ms)
        return msgspec.structs.replace(self, default_run_timeout_ms=default_ms)
