"""Artifacts: the transcript, messages, git diff and files of a rollout, also of one that has failed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from sandbox_agent.rollouts.output.message_lines import message_lines
from sandbox_agent.rollouts.result import Result
from sandbox_agent.rollouts.sandbox_commands import SandboxCommands
from sandbox_agent.sdk.client.client import AsyncSandboxAgent
from sandbox_agent.sdk.session.session import AsyncSession
from sandbox_agent.sdk.transcripts.conversation_steps import read_steps
from sandbox_agent.sdk.transcripts.spending import Spending
from sandbox_agent.sdk.transcripts.transcript import Transcript, write_transcript

if TYPE_CHECKING:
    from sandbox_agent.rollouts.rollout import Rollout

_PATCH = "rollout.patch"


class Artifacts:
    """Fills in `result.artifacts`."""

    def __init__(self, rollout: Rollout, result: Result) -> None:
        self._rollout = rollout
        self._result = result
        self._base_commit = ""

    async def note_base(self, commands: SandboxCommands) -> None:
        """Remember the commit with which the agent begins: the patch has what it commits too."""
        if "patch" in self._rollout.keep:
            told = await commands.run("git rev-parse HEAD")
            self._base_commit = told.stdout.strip() if told.exit_code == 0 else ""

    async def keep_messages(
        self, client: AsyncSandboxAgent, session: AsyncSession, spending: Spending
    ) -> None:
        rollout, result = self._rollout, self._result
        if "events" in rollout.keep:
            result.artifacts["messages.jsonl"] = await message_lines(client.store, session.id)
        if "transcript" in rollout.keep:
            transcript = Transcript(
                session_id=result.id,
                agent=rollout.agent,
                steps=read_steps(await session.events()),
                model=rollout.model,
                usage=spending.usage,
                cost_usd=spending.cost_usd,
            )
            result.artifacts["trajectory.json"] = write_transcript(transcript, "atif").encode()

    async def keep_files(self, client: AsyncSandboxAgent, directory: str, commands: SandboxCommands) -> None:
        artifacts = self._result.artifacts
        if "patch" in self._rollout.keep:
            artifacts["patch.diff"] = await self._patch(client, commands)
        for path in self._rollout.keep_files:
            full = os.path.join(directory, path)
            if await client.fs.exists(full):
                artifacts[f"files/{path}"] = await client.fs.read(full)

    async def _patch(self, client: AsyncSandboxAgent, commands: SandboxCommands) -> bytes:
        """Through a file, because only the end of a command's output is kept; empty without git."""
        against = self._base_commit or "$(git hash-object -t tree /dev/null)"
        made = await commands.run(
            'place="$(git rev-parse --absolute-git-dir)" && git add --all --intent-to-add . && '
            f'git diff --binary --output="$place/{_PATCH}" {against} && echo "$place"'
        )
        if made.exit_code != 0:
            return b""
        path = os.path.join(made.stdout.removesuffix("\n"), _PATCH)
        patch = await client.fs.read(path)
        await client.fs.delete(path)
        return patch
