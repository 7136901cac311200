"""Typed bodies: their fields and their order are the wire."""

from __future__ import annotations

import msgspec
import pytest

from sandbox_agent import errors
from sandbox_agent.agents.catalog.agent_spec import CAPABILITIES
from sandbox_agent.agents.install import install_result
from sandbox_agent.agents.install.install_progress import Progress
from sandbox_agent.http import problems
from sandbox_agent.http.direct_routes import HEALTH_BODY
from sandbox_agent.http.endpoints.agents.agent_bodies import AgentCapabilities, InstallProgress, InstallResult
from sandbox_agent.http.endpoints.health import Health
from sandbox_agent.http.openapi.problem_responses import PROBLEM_EXAMPLES, Kind


def test_the_capabilities_are_those_of_the_catalogue_in_the_same_order() -> None:
    assert AgentCapabilities.__struct_encode_fields__ == CAPABILITIES


def test_an_unknown_version_is_left_out_of_an_install_result() -> None:
    artifacts = (
        install_result.InstallArtifact("native_agent", "/bin/a", "registry", "1.2"),
        install_result.InstallArtifact("agent_process", "/bin/b", "fallback"),
    )
    assert msgspec.json.encode(InstallResult.of(install_result.InstallResult(False, artifacts))) == (
        b'{"already_installed":false,"artifacts":['
        b'{"kind":"native_agent","path":"/bin/a","source":"registry","version":"1.2"},'
        b'{"kind":"agent_process","path":"/bin/b","source":"fallback"}]}'
    )


@pytest.mark.parametrize(("percent", "end"), [(None, b"}"), (0, b',"percent":0}')])
def test_an_unknown_percentage_is_left_out_of_a_progress_event(percent: int | None, end: bytes) -> None:
    encoded = msgspec.json.encode(InstallProgress.of(Progress("packages", "npm", 5, percent)))
    assert encoded == b'{"step":"packages","message":"npm","bytes":5' + end


@pytest.mark.parametrize("kind", PROBLEM_EXAMPLES)
def test_a_problem_document_is_head_and_extensions_in_order(kind: Kind) -> None:
    error: errors.SandboxAgentError = PROBLEM_EXAMPLES[kind]
    head = {
        "type": f"urn:sandbox-agent:error:{kind.kind}",
        "title": kind.title,
        "status": kind.status,
        "detail": str(error),
    }
    assert problems.encode(error) == msgspec.json.encode({**head, **error.extensions})


def test_the_health_body_of_the_direct_route_is_the_typed_one() -> None:
    assert msgspec.json.encode(Health("ok")) == HEALTH_BODY
