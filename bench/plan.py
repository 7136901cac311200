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
    websocket_events: int
    """Events of the stream cases over WebSocket, for all connections together."""
    stamps: int
    starts: int
    used_messages: int
    large_messages: int
    replay_events: int
    idle_instances: int
    idle_seconds: float
    process_runs: int
    process_echoes: int
    process_output_mb: int
    idle_processes: int
    """Of each kind, pipes and terminals; together less than the limit of 64."""
    sdk_chunks: int
    """Chunks of the turn that the SDKs read."""
    sdk_chunks_each: int
    """Chunks of each of 100 sessions that are stored at once."""
    sdk_sessions: tuple[int, ...]
    sdk_waiting: int
    sdk_messages: int
    page_updates: int
    page_flood: int
    page_heap_events: int
    page_sessions: int
    page_updates_each: int
    """Of each of the sessions that are open in one page."""


FULL = Plan(
    rounds=7,
    heavy_rounds=3,
    time_budget=1500,
    request_ms=1500,
    warmup_ms=200,
    sizes=(("200 B", 200, (1, 8, 64)), ("64 KB", 64 * KB, (1, 8, 64)), ("1 MB", MB, (1, 8, 64))),
    flood_events=((1, 150_000), (10, 40_000)),
    websocket_events=400_000,
    stamps=1000,
    starts=10,
    used_messages=500,
    large_messages=1000,
    replay_events=100_000,
    idle_instances=500,
    idle_seconds=10,
    process_runs=300,
    process_echoes=2000,
    process_output_mb=64,
    idle_processes=25,
    sdk_chunks=20_000,
    sdk_chunks_each=200,
    sdk_sessions=(100, 500, 1000),
    sdk_waiting=400,
    sdk_messages=100_000,
    page_updates=5000,
    page_flood=20_000,
    page_heap_events=100_000,
    page_sessions=30,
    page_updates_each=200,
)

QUICK = Plan(
    rounds=5,
    heavy_rounds=1,
    time_budget=125,
    request_ms=300,
    warmup_ms=150,
    sizes=(("200 B", 200, (1, 8, 64)), ("64 KB", 64 * KB, (1, 8)), ("1 MB", MB, (1, 8))),
    flood_events=((1, 60_000), (10, 15_000)),
    websocket_events=100_000,
    stamps=200,
    starts=3,
    used_messages=500,
    large_messages=1000,
    replay_events=100_000,
    idle_instances=500,
    idle_seconds=3,
    process_runs=60,
    process_echoes=400,
    process_output_mb=16,
    idle_processes=25,
    sdk_chunks=20_000,
    sdk_chunks_each=200,
    sdk_sessions=(100, 500),
    sdk_waiting=100,
    sdk_messages=20_000,
    page_updates=2000,
    page_flood=20_000,
    page_heap_events=100_000,
    page_sessions=30,
    page_updates_each=50,
)

SMOKE = Plan(
    rounds=1,
    heavy_rounds=1,
    time_budget=10,
    request_ms=100,
    warmup_ms=20,
    sizes=(("200 B", 200, (1, 8)), ("64 KB", 64 * KB, (1,))),
    flood_events=((2, 500),),
    websocket_events=800,
    stamps=20,
    starts=1,
    used_messages=2,
    large_messages=2,
    replay_events=500,
    idle_instances=3,
    idle_seconds=0.2,
    process_runs=3,
    process_echoes=10,
    process_output_mb=1,
    idle_processes=2,
    sdk_chunks=300,
    sdk_chunks_each=3,
    sdk_sessions=(3, 6),
    sdk_waiting=3,
    sdk_messages=300,
    page_updates=60,
    page_flood=200,
    page_heap_events=300,
    page_sessions=3,
    page_updates_each=5,
)
