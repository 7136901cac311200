"""The row of one rollout: what the agent said, what it cost, how it was graded, or why it failed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

RETRIED: frozenset[str] = frozenset(("sandbox", "agent", "connection", "lost"))
"""The values of `error_kind` that are worth another attempt."""


@dataclass(slots=True)
class Result:
    """One row. A rollout that failed has `error` and what was known until then."""

    id: str
    attempt: int = 1
    agent: str = ""
    text: str = ""
    """The agent's text in the last step."""
    stop_reason: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    total_tokens: int | None = None
    cost_usd: float | None = None
    seconds: float = 0.0
    exit_codes: dict[str, int] = field(default_factory=dict)
    """Of the commands before and after, by their text."""
    outputs: dict[str, str] = field(default_factory=dict)
    """The end of what each of those commands wrote."""
    score: float | None = None
    error: str | None = None
    error_kind: str | None = None
    """Where it failed: `sandbox`, `setup`, `agent`, `connection`, `timeout`, `cost_limit`, `grading`, `task`,
    `lost` or `other`.
    """
    node: str = ""
    """The machine on which the rollout ran."""
    sandbox: str | None = None
    started_at: str = ""
    transcript: str | None = None
    """The path of the trajectory below the output directory."""
    artifacts: dict[str, bytes] = field(default_factory=dict, repr=False)
    """Files to keep, by name; `rollouts()` writes them below the output directory, beside the row."""

    @property
    def failed(self) -> bool:
        return self.error is not None

    @property
    def passed(self) -> bool:
        """Graded with a positive score; without a score, ended by itself without an error."""
        if self.score is not None:
            return self.score > 0
        return self.error is None and self.stop_reason == "end_turn"

    def to_row(self) -> dict[str, Any]:
        """The columns of the row, without the artifacts."""
        row = asdict(self)
        del row["artifacts"]
        return row

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Result:
        """From a row; columns of other versions are passed over."""
        known = {item.name for item in fields(cls)}
        return cls(**{name: value for name, value in row.items() if name in known})
