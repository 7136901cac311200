"""What `api` says when it does not work: the problem document on stderr, exit code 1."""

from __future__ import annotations

import json

import pytest

from tests.cli.conftest import TOKEN, Api
from tests.cli.sandbox_directory import SandboxDirectory
from tests.support.server_process import ServerProcess, free_port


@pytest.mark.clause("cli-api-errors")
def test_a_problem_goes_to_stderr_as_the_server_wrote_it(api: Api) -> None:
    result = api("agents", "show", "unknown")
    assert (result.code, result.out) == (1, "")
    problem = json.loads(result.err)
    assert problem["type"] == "urn:sandbox-agent:error:unsupported_agent"
    assert problem["agent"] == "unknown"


@pytest.mark.clause("cli-api-errors")
def test_a_wrong_token_is_reported_and_not_repeated(sandbox: SandboxDirectory, server: ServerProcess) -> None:
    url = f"http://127.0.0.1:{server.port}"
    result = sandbox.run("api", "health", "-e", url, "--token", "guessed-wrongly")
    assert result.code == 1
    assert json.loads(result.err)["status"] == 401
    assert "guessed-wrongly" not in result.err


@pytest.mark.clause("cli-api-errors")
def test_a_refused_connection_is_one_sentence(sandbox: SandboxDirectory) -> None:
    result = sandbox.run("api", "health", "--endpoint", f"http://127.0.0.1:{free_port()}")
    assert result.code == 1
    assert result.err.startswith("sandbox-agent: cannot reach the server")
    assert "Traceback" not in result.err


@pytest.mark.parametrize("endpoint", ["127.0.0.1:2468", "ftp://somewhere"])
def test_an_endpoint_that_is_no_web_address_is_a_usage_error(
    sandbox: SandboxDirectory, endpoint: str
) -> None:
    assert sandbox.run("api", "health", "-e", endpoint).code == 2


@pytest.mark.clause("spec3-global-token")
def test_an_empty_token_is_a_usage_error(sandbox: SandboxDirectory) -> None:
    result = sandbox.run("api", "health", environment={"SANDBOX_AGENT_TOKEN": " "})
    assert result.code == 2
    assert "empty" in result.err


@pytest.mark.clause("spec3-global-token")
def test_the_token_may_be_in_a_file(sandbox: SandboxDirectory, server: ServerProcess) -> None:
    file = sandbox.home / "token"
    file.write_text(TOKEN + "\n")
    url = f"http://127.0.0.1:{server.port}"
    sandbox.run("api", "health", "-e", url, "--token-file", str(file)).good()
    sandbox.run("api", "health", "-e", url, environment={"SANDBOX_AGENT_TOKEN_FILE": str(file)}).good()
    missing = sandbox.run("api", "health", "-e", url, "--token-file", "no-such-file")
    assert missing.code == 2
    assert "no-such-file" in missing.err
