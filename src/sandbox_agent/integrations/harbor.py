"""Harbor: `harbor run -a sandbox_agent.integrations.harbor:SandboxAgent --ak agent=codex`.

The agent runs in Harbor's environment through `sandbox-agent run`: no port is needed. The image has
`sandbox-agent`, or `--ak bundle=...` names the archive of `scripts/build`, which is unpacked into /opt.
"""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Any

from harbor.agents.base import BaseAgent
from harbor.environments.base import BaseEnvironment
from harbor.models.agent.context import AgentContext

from sandbox_agent.integrations.sandbox_run import (
    BUNDLE_COMMAND,
    KEY_VARIABLE,
    RunFiles,
    RunUsage,
    run_arguments,
)
from sandbox_agent.version import version

_ARCHIVE = "/opt/sandbox-agent.tar.gz"
_MAX_ERROR_CHARS = 4000


class SandboxAgent(BaseAgent):
    """Any agent of sandbox-agent; trajectory in ATIF, usage as the agent reported it."""

    def __init__(
        self,
        *args: Any,
        agent: str = "mock",
        agent_model: str | None = None,
        bundle: str | None = None,
        base_url: str | None = None,
        key_env: str | None = None,
        **kwargs: Any,
    ) -> None:
        """`base_url` and `key_env` are the address of the model and the variable here that has its key."""
        super().__init__(*args, **kwargs)
        self._agent = agent
        self._agent_model = agent_model
        self._bundle = bundle
        self._base_url = base_url
        self._key = os.environ.get(key_env or "", "")

    @staticmethod
    def name() -> str:
        return "sandbox-agent"

    def version(self) -> str | None:
        return version()

    async def setup(self, environment: BaseEnvironment) -> None:
        if self._bundle is None:
            return
        await environment.upload_file(Path(self._bundle), _ARCHIVE)
        unpacked = await environment.exec(f"tar -xzf {_ARCHIVE} -C /opt && rm {_ARCHIVE}", user="root")
        if unpacked.return_code != 0:
            raise RuntimeError(f"the bundle could not be unpacked: {unpacked.stderr or unpacked.stdout}")

    async def run(self, instruction: str, environment: BaseEnvironment, context: AgentContext) -> None:
        place = self.environment_logs_dir
        files = RunFiles(str(place / "trajectory.json"), str(place / "usage.json"))
        command = "sandbox-agent" if self._bundle is None else BUNDLE_COMMAND
        arguments = run_arguments(
            command, self._agent, instruction, files, model=self._agent_model, base_url=self._base_url
        )
        variables = {**self._extra_env, KEY_VARIABLE: self._key} if self._base_url else self._extra_env
        await environment.exec(f"mkdir -p {shlex.quote(str(place))}")
        done = await environment.exec(shlex.join(arguments), env=variables or None)
        self.logs_dir.mkdir(parents=True, exist_ok=True)
        for path in (files.trajectory, files.usage):
            local = self.logs_dir / Path(path).name
            if not local.exists():  # else the directory is mounted
                await environment.download_file(path, local)
        usage = RunUsage.from_json((self.logs_dir / "usage.json").read_bytes())
        context.n_input_tokens, context.n_output_tokens = usage.input_tokens, usage.output_tokens
        context.n_cache_tokens, context.cost_usd = usage.cached_tokens, usage.cost_usd
        context.metadata = {"stop_reason": usage.stop_reason, "exit_code": done.return_code}
        if done.return_code == 1:
            raise RuntimeError(
                f"{self._agent} failed: {(done.stderr or done.stdout or '')[-_MAX_ERROR_CHARS:]}"
            )
