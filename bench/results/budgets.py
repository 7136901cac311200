"""The figures of the report in order, with the budgets that the server has to keep.

A budget bounds the ratio of our median to that of the reference in the same run, or our own value where the
reference has no counterpart. Figures without a budget are reported only.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    name: str
    label: str
    unit: str
    at_least: float | None = None
    at_most: float | None = None
    own_value: bool = False
    """The budget bounds our value instead of its ratio to that of the reference."""

    def budget(self) -> str:
        sign = "" if self.own_value else "x"
        if self.at_least is not None:
            return f">= {self.at_least:g}{sign}"
        if self.at_most is not None:
            return f"<= {self.at_most:g}{sign}"
        return "-"

    def is_within_budget(self, value: float) -> bool | None:
        if self.at_least is not None:
            return value >= self.at_least
        if self.at_most is not None:
            return value <= self.at_most
        return None


def _requests(
    size: str, connections: int, *, throughput: float | None = None, cpu: float | None = None
) -> list[Figure]:
    case, plural = f"request {size} x{connections}", "s" if connections > 1 else ""
    label = f"{size}, {connections} connection{plural}"
    return [
        Figure(f"{case} throughput", f"{label}: throughput", "/s", at_least=throughput),
        Figure(f"{case} p50", f"{label}: p50", "µs"),
        Figure(f"{case} p99", f"{label}: p99", "µs"),
        Figure(f"{case} cpu", f"{label}: CPU per request", "µs", at_most=cpu),
    ]


def _websocket(connections: int, at_least: float | None = None) -> list[Figure]:
    case, stream = f"websocket x{connections}", f"websocket stream x{connections}"
    label = f"/acp over WebSocket, {connections} connection{'s' if connections > 1 else ''}"
    return [
        Figure(f"{case} throughput", f"{label}: throughput", "/s", at_least=at_least),
        Figure(f"{case} p50", f"{label}: p50", "µs"),
        Figure(f"{case} cpu", f"{label}: CPU per request", "µs"),
        Figure(f"{stream} events", f"{label}: events delivered", "/s", at_least=at_least),
        Figure(f"{stream} cpu", f"{label}: CPU per event delivered", "µs"),
    ]


def _page(case: str, label: str, unit: str, at_most: float | None = None) -> list[Figure]:
    return [Figure(f"page {case}", f"page, {label}", unit, at_most=at_most, own_value=True)]


FIGURES: list[Figure] = [
    *_requests("200 B", 1),
    *_requests("200 B", 8, throughput=3, cpu=0.35),
    *_requests("200 B", 64, throughput=3, cpu=0.35),
    *_requests("64 KB", 1),
    *_requests("64 KB", 8, throughput=4),
    *_requests("64 KB", 64),
    *_requests("1 MB", 1),
    *_requests("1 MB", 8, throughput=5),
    *_requests("1 MB", 64),
    Figure("stream x1 events", "stream, 1 reader: events delivered", "/s", at_least=10),
    Figure("stream x1 cpu", "stream, 1 reader: CPU per event delivered", "µs"),
    Figure("stream x1 lost", "stream, 1 reader: share lost", "", at_most=0, own_value=True),
    Figure("stream x10 events", "stream, 10 readers: events delivered", "/s", at_least=20),
    Figure("stream x10 cpu", "stream, 10 readers: CPU per event delivered", "µs"),
    Figure("stream x10 lost", "stream, 10 readers: share lost", "", at_most=0, own_value=True),
    Figure("event latency p50", "one event, pipe to reader: p50", "µs", at_most=1.0),
    *_websocket(1),
    *_websocket(8, at_least=1.0),
    Figure("process run", "run of echo: p50", "ms"),
    Figure("process run cpu", "run of echo: CPU", "ms"),
    Figure("terminal echo p50", "terminal, echo of a key: p50", "µs"),
    Figure("terminal echo cpu", "terminal, echo of a key: CPU", "µs"),
    Figure("terminal output", "terminal, large output: delivered", "MB/s"),
    Figure("terminal output cpu", "terminal, large output: CPU per MB delivered", "ms"),
    Figure("terminal output lost", "terminal, large output: share lost", "", at_most=0, own_value=True),
    Figure("process memory", "memory per further idle process", "KB"),
    Figure("terminal memory", "memory per further idle terminal", "KB"),
    Figure("start to health", "start to first healthy answer", "ms", at_most=2),
    Figure("start to acp", "start to first ACP answer", "ms", at_most=2),
    Figure("memory idle", "memory idle, no agent yet", "KB", at_most=1.5),
    Figure("memory one instance", "memory idle with 1 instance, watchdog included", "KB"),
    Figure("memory one instance proportional", "the same, shared pages counted once", "KB"),
    Figure("memory per instance", "memory per further idle instance", "KB"),
    Figure("memory used instances", "memory, 100 instances after use", "KB", at_most=0.4),
    Figure("memory large messages", "memory after 1,000 messages of 1 MB", "KB", at_most=0.2),
    Figure(
        "replay speed to copy",
        "replay of 400 MB from disk, speed to a plain socket copy",
        "x",
        own_value=True,
    ),
    Figure("replay beside load speed to copy", "the same while another instance works", "x", own_value=True),
    Figure(
        "replay other p99 to before",
        "another instance's p99 during the replay, to before",
        "x",
        own_value=True,
    ),
    Figure("idle instances cpu percent", "500 idle instances: CPU", "% of a core", own_value=True),
    Figure(
        "idle instances health p99 to without", "500 idle instances: health p99, to none", "x", own_value=True
    ),
    Figure("sdk turn memory", "SDK, turn of 20,000 chunks: CPU per event", "µs", at_most=1.0),
    Figure("sdk turn sqlite", "the same, stored in SQLite", "µs", at_most=1.3),
    Figure("sdk turn postgres", "the same, stored in Postgres", "µs", at_most=2.5),
    Figure("sdk turn sync", "the same in memory, synchronous client", "µs"),
    Figure("sdk turn sync to async", "synchronous to asynchronous client", "x", at_most=1.2, own_value=True),
    Figure("sdk postgres 100 sessions", "SDK, Postgres, 100 sessions x 200 chunks", "s", own_value=True),
    Figure(
        "sdk postgres network to loopback",
        "the same with 1 ms of network, to loopback",
        "x",
        at_most=1.5,
        own_value=True,
    ),
    *(
        Figure(f"sdk create {n}", f"SDK, {n:,} isolated sessions: CPU each", "ms", at_most=6, own_value=True)
        for n in (100, 500, 1000)
    ),
    Figure("sdk create growth", "CPU each of the most sessions to 100", "x", at_most=1.2, own_value=True),
    Figure("sdk sessions memory", "memory of the client with all of them", "MB", at_most=120, own_value=True),
    Figure(
        "sdk waiting after cut", "SDK, turns that wait after a cut: CPU", "ms/s", at_most=10, own_value=True
    ),
    Figure("sdk resume", "SDK, history of 100,000 messages: CPU of resume", "s", at_most=0.3, own_value=True),
    Figure("sdk follow", "the same: CPU of follow from the newest event", "s", at_most=0.3, own_value=True),
    Figure(
        "sdk longest block",
        "the same: CPU of the longest block of the loop",
        "ms",
        at_most=50,
        own_value=True,
    ),
    *_page("updates frame p95", "500 updates/s: frame p95", "ms", 50),
    *_page("flood longest task", "flood of 20,000 events: longest task", "ms", 200),
    *_page("heap", "100,000 events: heap", "MB", 150),
    *_page("sessions frame p95", "30 sessions, 300 updates/s: frame p95", "ms", 50),
    *_page("sessions heap", "the same: heap", "MB", 150),
    *_page("slow line first paint", "1.6 Mbit/s, 150 ms: first paint", "ms"),
    *_page("slow line usable", "the same: agents to choose from", "ms"),
]
