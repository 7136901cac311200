"""verifiers: a harness for any agent, through the stdio front `sandbox-agent acp`.

verifiers starts the command in its runtime, speaks ACP with it and gives it the address of its interception
server, so token ids, usage and rewards are those of verifiers. The runtime must have `sandbox-agent`.
"""

from __future__ import annotations

from typing import Any

from verifiers.v1.acp import ACPConfig, ACPHarness
from verifiers.v1.configs.harness import HarnessConfig

from sandbox_agent.sdk.model_address import model_environment


class SandboxAgentHarnessConfig(HarnessConfig):
    agent: str = "codex"
    """An id of sandbox-agent."""
    command: str = "sandbox-agent"


class SandboxAgentHarness(ACPHarness[SandboxAgentHarnessConfig]):
    SUPPORTS_MCP = True
    # The runtime of the run is the user's choice; `subprocess` has the rights of the user who runs verifiers.
    NEEDS_CONTAINER = False

    async def prepare_acp(
        self,
        ctx: Any,
        trace: Any,
        runtime: Any,
        endpoint: str,
        secret: str,
        mcp_urls: dict[str, str],
        data: Any,
    ) -> ACPConfig:
        return ACPConfig(
            env={**self.config.resolved_env, **model_environment(endpoint, secret, ctx.model)},
            command=[self.config.command, "acp", "--agent", self.config.agent],
            prompt=data.prompt,
            mcp_urls=mcp_urls,
            system_prompt=data.system_prompt,
        )
