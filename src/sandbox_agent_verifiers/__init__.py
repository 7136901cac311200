"""The harness for verifiers under a name that verifiers can load: `harness.id = "sandbox-agent-verifiers"`.

verifiers imports a harness by the name of a package without dots, and takes its class from `__all__`.
"""

from sandbox_agent.integrations.verifiers import SandboxAgentHarness, SandboxAgentHarnessConfig

__all__ = ["SandboxAgentHarness", "SandboxAgentHarnessConfig"]
