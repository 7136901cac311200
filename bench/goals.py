"""The figures of the report, in order, each with the goal it has to reach.

Most goals bound the ratio of our median to the reference's in the same run. The last few have no counterpart
in the reference (its memory of events is short), so they bound our own value.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Goal:
    figure: str
    label: str
    unit: str
    at_least: float | None = None
    at_most: float | None = None
    own_value: bool = False
    """The goal bounds our value itself instead of its ratio to the reference's."""

    def text(self) -> str:
        sign = "" if self.own_value else "x"
        if self.at_least is not None:
            return f">= {self.at_least:g}{sign}"
        if self.at_most is not None:
            return f"<= {self.at_most:g}{sign}"
        return "-"

    def reached(self, value: float) -> bool | None:
        if self.at_least is not None:
            return value >= self.at_least
        if self.at_most is not None:
            return value <= self.at_most
        return None


def _requests(size: str, connections: int, **bounds: float) -> list[Goal]:
    case, many = f"request {size} x{connections}", "s" if connections > 1 else ""
    label = f"{size}, {connections} connection{many}"
    p50, cpu = bounds.get("p50"), bounds.get("cpu")
    return [
        Goal(f"{case} throughput", f"{label}: throughput", "/s", at_least=bounds.get("throughput")),
        Goal(f"{case} p50", f"{label}: p50", "µs", at_most=p50),
        Goal(f"{case} p99", f"{label}: p99", "µs", at_most=bounds.get("p99")),
        Goal(f"{case} cpu", f"{label}: CPU per request", "µs", at_most=cpu),
    ]


GOALS: list[Goal] = [
    *_requests("200 B", 1, throughput=1.3, p50=0.8, p99=0.7),
    *_requests("200 B", 8, throughput=3, cpu=0.3, p99=0.7),
    *_requests("200 B", 64, throughput=3, cpu=0.3, p99=0.7),
    *_requests("64 KB", 1, throughput=3, cpu=0.3, p99=0.7),
    *_requests("64 KB", 8, throughput=3, cpu=0.3, p99=0.7),
    *_requests("64 KB", 64),
    *_requests("1 MB", 1, throughput=3.5, cpu=0.25, p99=0.7),
    *_requests("1 MB", 8, throughput=6, cpu=0.25, p99=0.7),
    *_requests("1 MB", 64),
    Goal("stream x1 events", "stream, 1 reader: events delivered", "/s", at_least=12),
    Goal("stream x1 cpu", "stream, 1 reader: CPU per event delivered", "µs"),
    Goal("stream x1 lost", "stream, 1 reader: share lost", "", at_most=0, own_value=True),
    Goal("stream x10 events", "stream, 10 readers: events delivered", "/s", at_least=25),
    Goal("stream x10 cpu", "stream, 10 readers: CPU per event delivered", "µs"),
    Goal("stream x10 lost", "stream, 10 readers: share lost", "", at_most=0, own_value=True),
    Goal("event latency p50", "one event, pipe to reader: p50", "µs", at_most=0.9),
    Goal("start to health", "start to first healthy answer", "ms", at_most=1.5),
    Goal("start to acp", "start to first ACP answer", "ms", at_most=1.4),
    Goal("memory idle", "memory idle, no agent yet", "KB", at_most=1.8),
    Goal("memory one instance", "memory idle with 1 instance, guardian included", "KB", at_most=1.8),
    Goal("memory one instance proportional", "the same, shared pages counted once", "KB"),
    Goal("memory per instance", "memory per further idle instance", "KB", at_most=0.1),
    Goal("memory used instances", "memory, 100 instances after use", "KB", at_most=0.5),
    Goal("memory large messages", "memory after 1,000 messages of 1 MB", "KB", at_most=0.3),
    Goal(
        "replay speed to copy",
        "replay of 400 MB from disk, speed to a plain socket copy",
        "x",
        at_least=0.5,
        own_value=True,
    ),
    Goal("replay beside load speed to copy", "the same while another instance works", "x", own_value=True),
    Goal(
        "replay other p99 to before",
        "another instance's p99 during the replay, to before",
        "x",
        at_most=2,
        own_value=True,
    ),
    Goal("idle instances cpu percent", "500 idle instances: CPU", "% of a core", at_most=0.5, own_value=True),
    Goal(
        "idle instances health p99 to without",
        "500 idle instances: health p99, to none",
        "x",
        at_most=1.3,
        own_value=True,
    ),
]
