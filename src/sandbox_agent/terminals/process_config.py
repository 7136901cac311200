"""The limits of processes that users start; clients may change them while the server runs."""

from __future__ import annotations

from typing import NamedTuple

MIB = 1024 * 1024


class ProcessConfig(NamedTuple):
    max_concurrent_processes: int = 64
    """Running processes, those of `run` included."""
    default_run_timeout_ms: int = 30_000
    max_run_timeout_ms: int = 300_000
    max_output_bytes: int = MIB
    """What `run` keeps of stdout, and of stderr."""
    max_log_bytes_per_process: int = 10 * MIB
    """The part of a log in memory; the rest goes to disk. A process keeps the value of its start."""
    max_input_bytes_per_request: int = 64 * 1024
