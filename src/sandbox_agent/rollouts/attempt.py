"""One attempt at one task: sandbox, files, commands, turns, score, and the files that are kept."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

from sandbox_agent.rollouts.artifacts import Artifacts
from sandbox_agent.rollouts.failures import RolloutFailure
from sandbox_agent.rollouts.result import Result
from sandbox_agent.rollouts.sandbox_commands import SandboxCommands
from sandbox_agent.rollouts.scoring import score_of
from sandbox_agent.rollouts.task_fields import Task, fill_all, steps_of
from sandbox_agent.sdk.client.client import AsyncSandboxAgent
from sandbox_agent.sdk.errors import SandboxAgentError
from sandbox_agent.sdk.providers.sandbox_provider import SandboxProvider
from sandbox_agent.sdk.session.permissions.permission_request import (
    OnPermission,
    allow_kinds,
    auto_approve,
    auto_reject,
)
from sandbox_agent.sdk.session.permissions.question import REJECT, OnQuestion
from sandbox_agent.sdk.session.session import AsyncSession
from sandbox_agent.sdk.transcripts.spending import Spending

if TYPE_CHECKING:
    from sandbox_agent.rollouts.rollout import Rollout

# Gives the server that rollouts without a sandbox share.
OpenClient = Callable[[], Awaitable[AsyncSandboxAgent]]
# For each part of the end: the session, the background, what is kept of a rollout that has failed.
_END_S = 30.0
PERMISSIONS: dict[str, OnPermission] = {
    "approve": auto_approve,
    "reject": auto_reject,
    "reads": allow_kinds("read", "search", "think", "fetch"),
}
QUESTIONS: dict[str, OnQuestion] = {"reject": lambda _: REJECT}


class Attempt:
    """Fills in `result`. An exception ends the rollout; `phase` says in which part it was raised."""

    def __init__(self, rollout: Rollout, task: Task, result: Result, shared: OpenClient | None) -> None:
        self._rollout = rollout
        self._task = task
        self._result = result
        self._shared = shared
        self.phase = "task"
        self._spending = Spending()
        self._artifacts = Artifacts(rollout, result)

    async def run(self) -> None:
        rollout = self._rollout
        steps = steps_of(rollout.prompt, self._task)
        before, after = fill_all(rollout.before, self._task), fill_all(rollout.after, self._task)
        limit = asyncio.timeout(rollout.timeout_s)
        try:
            async with limit:
                await self._run(steps, before, after, limit)
        except TimeoutError:
            if not limit.expired():
                raise  # of a function of the rollout
            raise RolloutFailure("timeout", f"not done within {rollout.timeout_s:g} s") from None

    async def _run(
        self, steps: list[str], before: list[str], after: list[str], limit: asyncio.Timeout
    ) -> None:
        self.phase = "sandbox"
        async with self._client() as client, self._directory(client) as directory:
            self._result.sandbox = client.sandbox_id
            commands = SandboxCommands(client, directory, self._rollout.command_timeout_s)
            try:
                self.phase = "setup"
                await self._prepare(client, directory, before, commands)
                self.phase = "agent"
                await self._converse(client, directory, steps)
                self.phase = "grading"
                for command in after:
                    await self._command(commands, command)
                await self._artifacts.keep_files(client, directory, commands)
            except BaseException as error:
                if isinstance(error, Exception) or limit.expired():
                    with suppress(Exception):  # The row has the error that came first.
                        async with asyncio.timeout(_END_S):
                            await self._artifacts.keep_files(client, directory, commands)
                raise
            finally:
                await _within_limit(commands.end())
        self._result.score = await score_of(self._rollout.score, self._task, self._result, after)

    # ---- sandbox ---------------------------------------------------------------------------------------

    @asynccontextmanager
    async def _client(self) -> AsyncIterator[AsyncSandboxAgent]:
        sandbox = self._rollout.sandbox
        if sandbox is None and self._shared is not None:
            yield await self._shared()
            return
        provider = sandbox if sandbox is None or isinstance(sandbox, SandboxProvider) else sandbox()
        async with await AsyncSandboxAgent.start(provider) as client:
            yield client

    @asynccontextmanager
    async def _directory(self, client: AsyncSandboxAgent) -> AsyncIterator[str]:
        """The working directory; a new one on this machine is removed afterwards."""
        given = self._rollout.directory
        provider = client.provider
        if given is None and provider is not None and provider.same_environment:
            path = await asyncio.to_thread(tempfile.mkdtemp, prefix="rollout-")
            try:
                yield path
            finally:
                await asyncio.to_thread(shutil.rmtree, path, ignore_errors=True)
            return
        given = given or (None if provider is None else provider.default_cwd)
        yield await client.fs.mkdir(given) if given else (await client.fs.stat(".")).path

    async def _prepare(
        self, client: AsyncSandboxAgent, directory: str, before: list[str], commands: SandboxCommands
    ) -> None:
        given = self._rollout.files
        files = dict(given(self._task) if callable(given) else given)
        if isinstance(self._task, Mapping):
            files |= self._task.get("files") or {}
        for path, content in files.items():
            # A column of Parquet has all names of all tasks, without content where a task has no such file.
            if content is not None:
                await client.fs.write(os.path.join(directory, path), content)
        for command in before:
            if (code := await self._command(commands, command)) != 0:
                raise RolloutFailure(
                    "setup", f"{command!r} exited with {code}: {self._result.outputs[command]}"
                )
        await self._artifacts.note_base(commands)

    async def _command(self, commands: SandboxCommands, command: str) -> int:
        done = await commands.run(command)
        self._result.exit_codes[command] = done.exit_code
        self._result.outputs[command] = done.output
        return done.exit_code

    # ---- turns -----------------------------------------------------------------------------------------

    async def _converse(self, client: AsyncSandboxAgent, directory: str, steps: list[str]) -> None:
        session = await self._session(client, directory)
        try:
            for step in steps:
                await self._turn(session, step)
        finally:
            await _within_limit(session.terminate())
            await self._artifacts.keep_messages(client, session, self._spending)
            # The store of a shared client would grow with every rollout.
            await client.sessions.forget(session.id)

    async def _session(self, client: AsyncSandboxAgent, directory: str) -> AsyncSession:
        rollout = self._rollout
        return await client.sessions.create(
            rollout.agent,
            directory=directory,
            model=rollout.model,
            mode=rollout.mode,
            isolated=True,
            on_permission=_permissions(rollout),
            on_question=_questions(rollout),
            # With a title the agent asks no model for one: those tokens would be in no row.
            **{"title": f"rollout {self._result.id}".rstrip(), **rollout.session_options},
        )

    async def _turn(self, session: AsyncSession, prompt: str) -> None:
        limit = self._rollout.max_cost_usd
        async with session.stream(prompt) as turn:
            async for message in turn.raw_events:
                self._spending.take(message)
                self._note_spending()
                cost = self._spending.cost_usd
                if limit is not None and cost is not None and cost > limit:
                    raise RolloutFailure("cost_limit", f"{cost:g} USD spent, {limit:g} allowed")
            result = await turn.result()
        self._result.text, self._result.stop_reason = result.text, result.stop_reason

    def _note_spending(self) -> None:
        usage, result = self._spending.usage, self._result
        result.input_tokens, result.output_tokens = usage.get("inputTokens"), usage.get("outputTokens")
        result.total_tokens, result.cost_usd = usage.get("totalTokens"), self._spending.cost_usd


async def _within_limit(end: Coroutine[Any, Any, object]) -> None:
    """Part of the end of a rollout: a sandbox that no longer answers neither delays nor changes its row."""
    with suppress(TimeoutError, SandboxAgentError):
        async with asyncio.timeout(_END_S):
            await end


def _permissions(rollout: Rollout) -> OnPermission:
    return rollout.permissions if callable(rollout.permissions) else PERMISSIONS[rollout.permissions]


def _questions(rollout: Rollout) -> OnQuestion:
    return rollout.questions if callable(rollout.questions) else QUESTIONS[rollout.questions]
