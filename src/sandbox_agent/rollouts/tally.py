"""Figures over rows: how many passed and failed, by kind, and what they cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from sandbox_agent.rollouts.result import Result


@dataclass(slots=True)
class Tally:
    done: int = 0
    passed: int = 0
    failed: int = 0
    cost_usd: float = 0.0
    seconds: float = 0.0
    tokens: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    """Failed rollouts by kind."""

    @classmethod
    def of(cls, results: Iterable[Result]) -> Tally:
        tally = cls()
        for result in results:
            tally.add(result)
        return tally

    def add(self, result: Result) -> None:
        self.done += 1
        self.passed += result.passed
        self.cost_usd += result.cost_usd or 0.0
        self.seconds += result.seconds
        self.tokens += result.total_tokens or 0
        if result.failed:
            self.failed += 1
            self.failures[result.error_kind or "other"] += 1

    @property
    def pass_rate(self) -> float | None:
        """The share that passed; None without rollouts."""
        return self.passed / self.done if self.done else None
