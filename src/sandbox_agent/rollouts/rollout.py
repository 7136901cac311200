"""`Rollout`: how one task is run. It can be pickled, so that other processes and machines can run it."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, get_args

from sandbox_agent.rollouts.attempt import PERMISSIONS, QUESTIONS, Attempt, OpenClient
from sandbox_agent.rollouts.engines.work import Work
from sandbox_agent.rollouts.failures import failure_of
from sandbox_agent.rollouts.result import Result
from sandbox_agent.rollouts.run_function import RunFunction, run_function
from sandbox_agent.rollouts.scoring import Score
from sandbox_agent.rollouts.task_fields import Task, Template, Templates
from sandbox_agent.sdk.providers.sandbox_provider import SandboxProvider
from sandbox_agent.sdk.session.permissions.permission_request import OnPermission
from sandbox_agent.sdk.session.permissions.question import OnQuestion

Kept = Literal["transcript", "events", "patch"]
KEPT_BY_DEFAULT: tuple[Kept, ...] = ("transcript", "events")
SandboxFactory = Callable[[], SandboxProvider]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollout:
    """One task from files and prompts to a graded row. Functions in it must be picklable for Ray."""

    agent: str
    sandbox: SandboxProvider | SandboxFactory | None = None
    """Where each rollout gets a server of its own; None: all rollouts of a process share a local server, and
    each has an agent process and a directory of its own."""
    prompt: Template | Templates | None = None
    """A text with `{field}` of the task, several of them for several turns, or a function of the task; None
    takes `prompt` or `steps` of the task, or the task itself if it is a text."""
    permissions: Literal["approve", "reject", "reads"] | OnPermission = "approve"
    questions: Literal["reject"] | OnQuestion = "reject"
    directory: str | None = None
    """The working directory in the sandbox; None: a new one, or the provider's."""
    files: Mapping[str, str | bytes] | Callable[[Any], Mapping[str, str | bytes]] = field(
        default_factory=dict
    )
    """Files to write before, by their path in the working directory. A task's own `files` come on top."""
    before: Templates = ()
    """Shell commands before the first prompt; one that fails ends the rollout."""
    after: Templates = ()
    """Shell commands after the last prompt, for grading."""
    score: Score | None = None
    """The score from the task and the row; None: 1 if all commands of `after` exit with 0, else 0. A function
    that is not asynchronous runs in a thread: one that waits does not hold up other rollouts."""
    timeout_s: float = 1800.0
    """For everything from the sandbox to the score."""
    command_timeout_s: float = 600.0
    max_cost_usd: float | None = None
    """Cancel the turn when the agent reports more."""
    keep: frozenset[Kept] | Sequence[Kept] = KEPT_BY_DEFAULT
    """`transcript` (ATIF), `events` (ACP messages as JSON lines), `patch` (git diff)."""
    keep_files: Sequence[str] = ()
    """Files of the working directory to keep."""
    model: str | None = None
    mode: str | None = None
    session_options: Mapping[str, Any] = field(default_factory=dict)
    """Further arguments of `sessions.create`."""

    def __post_init__(self) -> None:
        """Raise ValueError for names that do not exist: with them every task would fail, or keep nothing."""
        _check("permissions", self.permissions, PERMISSIONS)
        _check("questions", self.questions, QUESTIONS)
        for kept in [self.keep] if isinstance(self.keep, str) else self.keep:
            _check("keep", kept, get_args(Kept))

    @property
    def run(self) -> RunFunction:
        """`await rollout.run(task)` runs the task. A failure is a row with `error`; only cancelling raises.

        A property that gives a function, because Ray takes no methods: `ray.remote(rollout.run)`. A call of
        the copy that Ray has sent to a worker waits there for the `Result`, because the tasks of Ray are not
        asynchronous.
        """
        return run_function(self)

    async def _run(self, work: Work, attempt: int, shared: OpenClient | None) -> Result:
        task_id = work.id or own_id(work.task)
        result = Result(id=task_id, attempt=attempt, agent=self.agent, node=socket.gethostname())
        result.started_at = datetime.now(UTC).isoformat(timespec="milliseconds")
        began = time.monotonic()
        running = Attempt(self, work.task, result, shared)
        try:
            await running.run()
        except Exception as error:
            result.error_kind, result.error = failure_of(error, running.phase)
        result.seconds = round(time.monotonic() - began, 3)
        return result


def _check(field: str, value: object, known: Collection[str]) -> None:
    if not callable(value) and value not in known:
        raise ValueError(f"{field} has no {value!r}; there are {', '.join(known)}")


def own_id(task: Task) -> str:
    return str(task.get("id", "")) if isinstance(task, Mapping) else ""
