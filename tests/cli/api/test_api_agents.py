"""`api agents` and the small commands about the server itself."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Api


def test_health(api: Api) -> None:
    assert api("health").good().json == {"status": "ok"}


def test_openapi_describes_every_endpoint_there_is_a_command_for(api: Api) -> None:
    paths = api("openapi").good().json["paths"]
    assert {"/v1/acp", "/v1/agents", "/v1/fs/file", "/v1/config/mcp"} <= set(paths)


@pytest.mark.clause("cli-api-agents")
def test_list_prints_the_answer_of_the_server(api: Api) -> None:
    agents = api("agents", "list").good().json["agents"]
    assert [agent["id"] for agent in agents][:7] == [
        "claude",
        "codex",
        "opencode",
        "amp",
        "pi",
        "cursor",
        "mock",
    ]


@pytest.mark.clause("cli-api-agents")
def test_list_as_a_table_has_a_line_for_each_agent(api: Api) -> None:
    lines = api("agents", "list", "-o", "table").good().out.splitlines()
    mock = next(line.split() for line in lines if line.split()[:1] == ["mock"])
    assert mock[1:3] == ["yes", "yes"]


@pytest.mark.clause("cli-api-agents")
def test_show_has_version_and_models(api: Api) -> None:
    mock = api("agents", "show", "mock").good().json
    assert mock["version"] == "builtin"
    assert [model["id"] for model in mock["models"]] == ["mock", "mock-fast"]


@pytest.mark.clause("cli-api-agents")
def test_install_prints_the_answer(api: Api) -> None:
    assert api("agents", "install", "mock").good().json == {"already_installed": True, "artifacts": []}
    again = api("agents", "install", "mock", "--reinstall").good().json
    assert again["artifacts"][0]["source"] == "builtin"


def test_install_of_an_unknown_agent_fails(api: Api) -> None:
    result = api("agents", "install", "unknown")
    assert result.code == 1
    assert "unsupported_agent" in result.err


@pytest.mark.clause("cli-api-agents")
def test_report_lists_what_can_be_chosen(api: Api) -> None:
    report = api("agents", "report").good().json
    assert set(report) == {"generatedAtMs", "endpoint", "agents"}
    mock = next(agent for agent in report["agents"] if agent["id"] == "mock")
    assert mock["installed"] is True
    assert mock["models"]["currentValue"] == "mock"
    assert [value["value"] for value in mock["modes"]["values"]] == ["normal", "plan"]
    assert [value["value"] for value in mock["thoughtLevels"]["values"]] == ["high", "low", "medium"]
    for agent in report["agents"]:
        values = [value["value"] for value in agent["models"]["values"]]
        assert values == sorted(values)
