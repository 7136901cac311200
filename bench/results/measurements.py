"""The measured values by figure and server, and the account of all messages sent while measuring."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from statistics import median
from typing import Any


@dataclass
class Integrity:
    checked: int = 0
    lost: int = 0
    altered: int = 0
    repeated: int = 0
    refused: int = 0

    def sentence(self) -> str:
        return (
            f"{self.checked:,} messages checked, {self.lost:,} lost, {self.altered:,} altered, "
            f"{self.repeated:,} repeated, {self.refused:,} refused"
        )


class Measurements:
    def __init__(self) -> None:
        self.values: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
        self.integrity: dict[str, Integrity] = defaultdict(Integrity)

    def add(self, figure: str, server: str, value: float) -> None:
        self.values[figure][server].append(value)

    def median(self, figure: str, server: str) -> float | None:
        values = self.values.get(figure, {}).get(server)
        return median(values) if values else None

    def ratio(self, figure: str, server: str, other: str) -> float | None:
        """The median of the ratios of single rounds, which were measured within seconds of each other."""
        both = self.values.get(figure, {})
        pairs = zip(both.get(server, []), both.get(other, []), strict=False)
        ratios = [value / compared for value, compared in pairs if compared]
        return median(ratios) if ratios else None

    def count_requests(self, server: str, figures: dict[str, Any]) -> None:
        account = self.integrity[server]
        account.checked += figures["answered"]
        account.lost += figures["lost"]
        account.altered += figures["altered"]
        account.refused += figures["failed"]

    def count_events(self, server: str, figures: dict[str, Any]) -> None:
        account = self.integrity[server]
        account.checked += figures["expected"]
        account.lost += figures["missing"]
        account.altered += figures["altered"]
        account.repeated += figures["repeated"]
