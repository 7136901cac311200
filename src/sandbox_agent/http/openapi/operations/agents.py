"""Descriptions of the agent endpoints."""

from __future__ import annotations

from typing import Any

from sandbox_agent import errors
from sandbox_agent.agents.catalog.agent_spec import CAPABILITIES
from sandbox_agent.http.openapi.operations.operation import Answer, Content, Operation, Parameter

_TEXT = {"type": "string"}
_FLAG = {"type": "boolean"}


def _object(required: list[str], **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required}


def _list(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


_AGENT = _object(
    ["id", "installed", "credentialsAvailable", "capabilities"],
    id=_TEXT,
    installed=_FLAG,
    credentialsAvailable=_FLAG,
    version=_TEXT,
    path=_TEXT,
    capabilities=_object(list(CAPABILITIES), **dict.fromkeys(CAPABILITIES, _FLAG)),
    serverStatus=_object(
        ["status", "uptimeMs"],
        status={"enum": ["running", "stopped"]},
        uptimeMs={"type": "integer", "minimum": 0},
    ),
    configOptions=_list({"type": "object"}),
    configError=_TEXT,
    models=_list(_object(["id", "name"], id=_TEXT, name=_TEXT)),
    defaultModel=_TEXT,
    modes=_list(_object(["id", "name", "description"], id=_TEXT, name=_TEXT, description=_TEXT)),
)
_AGENT_EXAMPLE = {
    "id": "mock",
    "installed": True,
    "credentialsAvailable": True,
    "capabilities": {name: name != "sharedProcess" for name in CAPABILITIES},
}
_ARTIFACT = _object(
    ["kind", "path", "source"],
    kind={"enum": ["agent_process", "native_agent"]},
    path=_TEXT,
    source={"enum": ["registry", "fallback", "local_path", "builtin"]},
    version=_TEXT,
)
_INSTALL = {
    "type": "object",
    "properties": {
        "reinstall": {"type": ["boolean", "null"]},
        "agentVersion": {"type": ["string", "null"]},
        "agentProcessVersion": {"type": ["string", "null"]},
    },
}
_DETAILS = [
    Parameter("config", "Also models, modes and versions", schema=_FLAG, example=True),
    Parameter("no_cache", "Look versions up anew", schema=_FLAG, example=False),
]
_AGENT_ID = {"agent": ("Id of an agent", "mock")}

OPERATIONS = {
    ("GET", "/v1/agents"): Operation(
        id="listAgents",
        tag="agents",
        summary="List the known agents",
        parameters=_DETAILS,
        answers={
            200: Answer(
                "All agents of the catalogue",
                [Content(_object(["agents"], agents=_list(_AGENT)), {"agents": [_AGENT_EXAMPLE]})],
            )
        },
    ),
    ("GET", "/v1/agents/{agent}"): Operation(
        id="getAgent",
        tag="agents",
        summary="One agent",
        path_parameters=_AGENT_ID,
        parameters=_DETAILS,
        answers={200: Answer("The agent", [Content(_AGENT, _AGENT_EXAMPLE)])},
        errors=[errors.UnsupportedAgent],
    ),
    ("POST", "/v1/agents/{agent}/install"): Operation(
        id="installAgent",
        tag="agents",
        summary="Install an agent",
        description=(
            "With `Accept: text/event-stream` the answer is a stream of `progress` events that ends with one "
            "`result` or `error`."
        ),
        path_parameters=_AGENT_ID,
        body=[Content(_INSTALL, {"reinstall": False})],
        answers={
            200: Answer(
                "Installed, now or before",
                [
                    Content(
                        _object(
                            ["already_installed", "artifacts"],
                            already_installed=_FLAG,
                            artifacts=_list(_ARTIFACT),
                        ),
                        {"already_installed": True, "artifacts": []},
                    ),
                    Content(_TEXT, media_type="text/event-stream"),
                ],
            )
        },
        errors=[
            errors.UnsupportedAgent,
            errors.AgentNotInstalled,
            errors.PayloadTooLarge,
            errors.UnsupportedMediaType,
            errors.InstallFailed,
        ],
    ),
}
