"""The amounts of a run: the full benchmark, the quick one (under three minutes), and the smoke test."""

from __future__ import annotations

from dataclasses import dataclass

KB, MB = 1024, 1_000_000


@dataclass(frozen=True)
class Plan:
    rounds: int
    heavy_rounds: int
    """Rounds of the cases that take many seconds each (memory, replay, many instances)."""
    time_budget: float
    """Seconds after which no further case is begun."""
    request_ms: int
    warmup_ms: int
    """Load before each measurement that is not counted. Our server loads msgspec in its first 100 ms."""
    sizes: tuple[tuple[str, int, tuple[int, ...]], ...]
    """Label, bytes and numbers of connections of the request cases."""
    flood_events: tuple[tuple[int, int], ...]
    """Readers and events of the stream cases."""
    stamps: int
    starts: int
    used_messages: int
    large_messages: int
    replay_events: int
    idle_instances: int
    idle_seconds: float


FULL = Plan(
    rounds=7,
    heavy_rounds=3,
    time_budget=1500,
    request_ms=1500,
    warmup_ms=200,
    sizes=(("200 B", 200, (1, 8, 64)), ("64 KB", 64 * KB, (1, 8, 64)), ("1 MB", MB, (1, 8, 64))),
    flood_events=((1, 150_000), (10, 40_000)),
    stamps=1000,
    starts=10,
    used_messages=500,
    large_messages=1000,
    replay_events=100_000,
    idle_instances=500,
    idle_seconds=10,
)

QUICK = Plan(
    rounds=5,
    heavy_rounds=1,
    time_budget=125,
    request_ms=300,
    warmup_ms=150,
    sizes=(("200 B", 200, (1, 8, 64)), ("64 KB", 64 * KB, (1, 8)), ("1 MB", MB, (1, 8))),
    flood_events=((1, 60_000), (10, 15_000)),
    stamps=200,
    starts=3,
    used_messages=200,
    large_messages=1000,
    replay_events=100_000,
    idle_instances=500,
    idle_seconds=3,
)

SMOKE = Plan(
    rounds=1,
    heavy_rounds=1,
    time_budget=10,
    request_ms=100,
    warmup_ms=20,
    sizes=(("200 B", 200, (1, 8)), ("64 KB", 64 * KB, (1,))),
    flood_events=((2, 500),),
    stamps=20,
    starts=1,
    used_messages=2,
    large_messages=2,
    replay_events=500,
    idle_instances=3,
    idle_seconds=0.2,
)
