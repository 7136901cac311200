"""One attempt at one task: sandbox, files, commands, turns, grading, and what is kept of it."""

from __future__ import annotations

import asyncio
import inspect
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from sandbox_agent.rollouts.failures import RolloutFailure
from sandbox_agent.rollouts.output.message_lines import message_lines
from sandbox_agent.rollouts.result import Result
from sandbox_agent.rollouts.sandbox_commands import run_command
from sandbox_agent.rollouts.task_fields import Task, fill_all, steps_of
from sandbox_agent.sdk.client.client import AsyncSandboxAgent
from sandbox_agent.sdk.providers.sandbox_provider import SandboxProvider
from sandbox_agent.sdk.session.permissions.permission_request import (
    OnPermission,
    allow_kinds,
    auto_approve,
    auto_reject,
)
from sandbox_agent.sdk.session.permissions.question import REJECT, OnQuestion
from sandbox_agent.sdk.session.session import AsyncSession
from sandbox_agent.sdk.transcripts.conversation_steps import read_steps
from sandbox_agent.sdk.transcripts.spending import Spending
from sandbox_agent.sdk.transcripts.transcript import Transcript, write_transcript

if TYPE_CHECKING:
    from sandbox_agent.rollouts.rollout import Rollout

# Gives the server that rollouts without a sandbox share.
OpenClient = Callable[[], Awaitable[AsyncSandboxAgent]]
_READING_KINDS = ("read", "search", "think", "fetch")


class Attempt:
    """Fills in `result`; what it raises ends the rollout, and `phase` tells where that was."""

    def __init__(self, rollout: Rollout, task: Task, result: Result, shared: OpenClient | None) -> None:
        self._rollout = rollout
        self._task = task
        self._result = result
        self._shared = shared
        self.phase = "task"
        self._spending = Spending()
        self._base_commit = ""

    async def run(self) -> None:
        rollout = self._rollout
        steps = steps_of(rollout.prompt, self._task)
        before, after = fill_all(rollout.before, self._task), fill_all(rollout.after, self._task)
        try:
            async with asyncio.timeout(rollout.timeout_s):
                await self._run(steps, before, after)
        except TimeoutError:
            raise RolloutFailure("timeout", f"not done within {rollout.timeout_s:g} s") from None

    async def _run(self, steps: list[str], before: list[str], after: list[str]) -> None:
        self.phase = "sandbox"
        async with self._client() as client, self._directory(client) as directory:
            self._result.sandbox = client.sandbox_id
            self.phase = "setup"
            await self._prepare(client, directory, before)
            self.phase = "agent"
            session = await self._session(client, directory)
            try:
                for step in steps:
                    await self._turn(session, step)
            finally:
                await session.terminate()
                await self._keep_messages(client, session)
                # The store of a shared client would grow with every rollout.
                await client.sessions.forget(session.id)
            self.phase = "grading"
            for command in after:
                await self._command(client, command, directory)
            await self._keep_files(client, directory)
        await self._grade(after)

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

    async def _prepare(self, client: AsyncSandboxAgent, directory: str, before: list[str]) -> None:
        given = self._rollout.files
        files = dict(given(self._task) if callable(given) else given)
        if not isinstance(self._task, str):
            files |= self._task.get("files") or {}
        for path, content in files.items():
            await client.fs.write(os.path.join(directory, path), content)
        for command in before:
            if (code := await self._command(client, command, directory)) != 0:
                raise RolloutFailure(
                    "setup", f"{command!r} exited with {code}: {self._result.outputs[command]}"
                )
        if "patch" in self._rollout.keep:
            told = await run_command(client, "git rev-parse HEAD", directory, self._rollout.command_timeout_s)
            self._base_commit = told.stdout.strip() if told.exit_code == 0 else ""

    async def _command(self, client: AsyncSandboxAgent, command: str, directory: str) -> int:
        done = await run_command(client, command, directory, self._rollout.command_timeout_s)
        self._result.exit_codes[command] = done.exit_code
        self._result.outputs[command] = done.tail
        return done.exit_code

    # ---- turns -----------------------------------------------------------------------------------------

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

    # ---- grading and what is kept ----------------------------------------------------------------------

    async def _grade(self, after: list[str]) -> None:
        result = self._result
        if self._rollout.score is not None:
            score = self._rollout.score(self._task, result)
            value = await score if inspect.isawaitable(score) else score
            result.score = None if value is None else float(value)
        elif after:
            result.score = float(all(result.exit_codes[command] == 0 for command in after))

    async def _keep_files(self, client: AsyncSandboxAgent, directory: str) -> None:
        rollout, artifacts = self._rollout, self._result.artifacts
        if "patch" in rollout.keep:
            against = self._base_commit or "$(git hash-object -t tree /dev/null)"
            command = f"git add --all --intent-to-add . && git diff --binary {against}"
            patch = await run_command(client, command, directory, rollout.command_timeout_s)
            artifacts["patch.diff"] = patch.stdout.encode()
        for path in rollout.keep_files:
            full = os.path.join(directory, path)
            if await client.fs.exists(full):
                artifacts[f"files/{path}"] = await client.fs.read(full)

    async def _keep_messages(self, client: AsyncSandboxAgent, session: AsyncSession) -> None:
        """Also of a rollout that has failed."""
        rollout, result = self._rollout, self._result
        if "events" in rollout.keep:
            result.artifacts["messages.jsonl"] = await message_lines(client.store, session.id)
        if "transcript" in rollout.keep:
            transcript = Transcript(
                session_id=result.id,
                agent=rollout.agent,
                steps=read_steps(await session.events()),
                model=rollout.model,
                usage=self._spending.usage,
                cost_usd=self._spending.cost_usd,
            )
            result.artifacts["trajectory.json"] = write_transcript(transcript, "atif").encode()


def _permissions(rollout: Rollout) -> OnPermission:
    if callable(rollout.permissions):
        return rollout.permissions
    policies: dict[str, OnPermission] = {
        "approve": auto_approve,
        "reject": auto_reject,
        "reads": allow_kinds(*_READING_KINDS),
    }
    return policies[rollout.permissions]


def _questions(rollout: Rollout) -> OnQuestion:
    return rollout.questions if callable(rollout.questions) else lambda _: REJECT
