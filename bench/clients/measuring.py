"""What the client programs share: their arguments, a connected client, CPU time, memory and the store."""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sandbox_agent.sdk.stores import MemoryStore, PostgresStore, SessionStore, SqliteStore

AGENT = "mock"
"""The agent behind whose name the benchmark's own agent is started."""


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("case")
    parser.add_argument("--url", default="")
    parser.add_argument("--token", default="")
    parser.add_argument("--directory", required=True, help="for files of the store, and of the sessions")
    parser.add_argument("--store", default="memory", help="memory, sqlite, or a Postgres DSN")
    parser.add_argument("--count", type=int, default=1, help="events of a turn, sessions or messages")
    parser.add_argument(
        "--cutter", type=int, default=0, help="process of the proxy that cuts the connections"
    )
    return parser.parse_args()


def make_store(name: str, directory: str) -> SessionStore:
    if name == "memory":
        return MemoryStore()
    if name == "sqlite":
        return SqliteStore(Path(directory) / f"{os.getpid()}.db")
    return PostgresStore(name, schema=f"bench_{os.getpid()}")


@dataclass
class Spent:
    cpu_s: float = 0.0
    wall_s: float = 0.0


@contextmanager
def spent() -> Iterator[Spent]:
    """CPU time of all threads of this process, and the time that passed."""
    result, cpu, wall = Spent(), time.process_time(), time.monotonic()
    yield result
    result.cpu_s, result.wall_s = time.process_time() - cpu, time.monotonic() - wall


def resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def report(**figures: Any) -> None:
    print(json.dumps(figures))
