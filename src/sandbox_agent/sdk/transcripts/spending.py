"""Tokens and cost of the turns of a session, from what the agent reports.

Agents report in three ways: `usage` in the answer to a prompt (tokens of the turn), `usage_update` (the cost
of the session so far), and the vendor's own figures in `_meta`, which this product's adapters pass on.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sandbox_agent.sdk.universal.usage import reported_usage

_OWN_META = "sandboxagent.dev"


class Spending:
    """Adds up the turns of one session."""

    def __init__(self) -> None:
        self.usage: dict[str, int] = {}
        """Tokens by the names of ACP: `inputTokens`, `outputTokens`, `totalTokens`, `cachedReadTokens`."""
        self._session_cost: float | None = None
        self._turn_costs: float | None = None

    @property
    def cost_usd(self) -> float | None:
        return self._session_cost if self._session_cost is not None else self._turn_costs

    def take(self, envelope: Mapping[str, Any]) -> None:
        """Take in a message of the session, in either direction."""
        params = envelope.get("params")
        update = params.get("update") if isinstance(params, dict) else None
        if isinstance(update, dict):
            self._update(update)
        result = envelope.get("result")
        if isinstance(result, dict):
            self._add(reported_usage(result))

    def _update(self, update: Mapping[str, Any]) -> None:
        cost = update.get("cost")
        if isinstance(cost, dict) and isinstance(amount := cost.get("amount"), int | float):
            self._session_cost = float(amount)
        meta = update.get("_meta")
        own = meta.get(_OWN_META) if isinstance(meta, dict) else None
        turn = own.get("turn") if isinstance(own, dict) else None
        if isinstance(turn, dict):
            if isinstance(amount := turn.get("total_cost_usd"), int | float):
                self._turn_costs = float(amount)
            if isinstance(usage := turn.get("usage"), dict):
                self._vendor(usage)

    def _vendor(self, usage: Mapping[str, Any]) -> None:
        """The figures of Claude Code: cached tokens are counted apart from `input_tokens`."""
        cached = _count(usage, "cache_read_input_tokens")
        read = _count(usage, "input_tokens") + cached + _count(usage, "cache_creation_input_tokens")
        written = _count(usage, "output_tokens")
        self._add(
            {
                "inputTokens": read,
                "outputTokens": written,
                "totalTokens": read + written,
                "cachedReadTokens": cached,
            }
        )

    def _add(self, usage: Mapping[str, Any]) -> None:
        for name, count in usage.items():
            if isinstance(count, int) and not isinstance(count, bool):
                self.usage[name] = self.usage.get(name, 0) + count


def _count(usage: Mapping[str, Any], name: str) -> int:
    value = usage.get(name)
    return value if isinstance(value, int) else 0
