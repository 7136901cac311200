"""What a turn or a session has used: tokens, cost, and how full the context of the model is.

Agents report the tokens of a turn with its answer. `usage_update` has the context at that moment and the cost
of the whole session so far, as ACP defines it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from msgspec import Struct

from sandbox_agent.sdk.universal.json_reading import as_dict, as_int, as_text

_TOKENS = {
    "input_tokens": "inputTokens",
    "output_tokens": "outputTokens",
    "total_tokens": "totalTokens",
    "thought_tokens": "thoughtTokens",
    "cached_read_tokens": "cachedReadTokens",
    "cached_write_tokens": "cachedWriteTokens",
}


class Cost(Struct, frozen=True):
    """An amount of money; `currency` is an ISO 4217 code."""

    amount: float
    currency: str


@dataclass(frozen=True, slots=True)
class Usage:
    """The usage that the agent reported; what it did not report is None. `raw` has all of it."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    total_tokens: int | None = None
    raw: dict[str, Any] = field(default_factory=dict, repr=False)
    thought_tokens: int | None = None
    cached_read_tokens: int | None = None
    cached_write_tokens: int | None = None
    cost: Cost | None = None
    context_used: int | None = None
    """Tokens in the context of the model at the end."""
    context_size: int | None = None

    @property
    def context_fill(self) -> float | None:
        """The part of the context that is used, from 0 to 1."""
        if self.context_used is None or not self.context_size:
            return None
        return self.context_used / self.context_size


class UsageState(Struct):
    """The sum of a session, part of the mapper's state."""

    tokens: dict[str, int] = {}
    cost: Cost | None = None
    context_used: int | None = None
    context_size: int | None = None

    def add_turn(self, answer: Any) -> None:
        """Add the tokens of a turn, from its answer."""
        for name, count in read_tokens(reported_usage(as_dict(answer))).items():
            self.tokens[name] = self.tokens.get(name, 0) + count

    def update(self, update: dict[str, Any]) -> None:
        """Take over a `usage_update`."""
        self.cost = read_cost(update) or self.cost
        used, size = as_int(update.get("used")), as_int(update.get("size"))
        self.context_used = self.context_used if used is None else used
        self.context_size = self.context_size if size is None else size

    def total(self) -> Usage:
        """The sum so far."""
        return replace(
            _with_tokens(self.tokens),
            cost=self.cost,
            context_used=self.context_used,
            context_size=self.context_size,
        )


def reported_usage(answer: dict[str, Any]) -> dict[str, Any]:
    """The `usage` of the answer to a prompt; Gemini and its forks count the tokens in `_meta.quota`."""
    if usage := as_dict(answer.get("usage")):
        return usage
    quota = as_dict(as_dict(answer.get("_meta")).get("quota"))
    counts = as_dict(quota.get("token_count"))
    read, written = as_int(counts.get("input_tokens")), as_int(counts.get("output_tokens"))
    if read is None or written is None:
        return {}
    return {"inputTokens": read, "outputTokens": written, "totalTokens": read + written}


def read_tokens(usage: Any) -> dict[str, int]:
    """The token counts of an answer's `usage`, by our names."""
    fields = as_dict(usage)
    found = {name: as_int(fields.get(key)) for name, key in _TOKENS.items()}
    return {name: count for name, count in found.items() if count is not None}


def _with_tokens(tokens: dict[str, int]) -> Usage:
    counts: dict[str, Any] = tokens
    return Usage(**counts)


def read_cost(update: Any) -> Cost | None:
    """The cost in a `usage_update`."""
    cost = as_dict(as_dict(update).get("cost"))
    amount, currency = cost.get("amount"), as_text(cost.get("currency"))
    if isinstance(amount, int | float) and not isinstance(amount, bool) and currency is not None:
        return Cost(float(amount), currency)
    return None


def usage_of_turn(answer: dict[str, Any], last_update: dict[str, Any], before: Cost | None) -> Usage | None:
    """The usage of one turn: its answer, the last `usage_update` in it, and the cost before it."""
    reported = reported_usage(answer)
    raw = {**last_update, **reported}
    if not raw:
        return None
    total = read_cost(last_update)
    spent = before.amount if before is not None and total and before.currency == total.currency else 0.0
    return replace(
        _with_tokens(read_tokens(raw)),
        raw=raw,
        cost=Cost(round(total.amount - spent, 10), total.currency) if total else None,
        context_used=as_int(last_update.get("used")),
        context_size=as_int(last_update.get("size")),
    )


def summed(first: Usage | None, second: Usage | None) -> Usage | None:
    """The usage of two turns: tokens and cost in sum, the context as it was at the end."""
    if first is None or second is None:
        return first or second
    tokens = {name: _added(getattr(first, name), getattr(second, name)) for name in _TOKENS}
    costs = (first.cost, second.cost)
    cost = second.cost or first.cost
    if costs[0] is not None and costs[1] is not None and costs[0].currency == costs[1].currency:
        cost = Cost(round(costs[0].amount + costs[1].amount, 10), costs[1].currency)
    return replace(second, **tokens, cost=cost, raw={**first.raw, **second.raw})


def _added(first: int | None, second: int | None) -> int | None:
    return second if first is None else first if second is None else first + second
