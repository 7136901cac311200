"""The tree of `sandbox-agent api`."""

from __future__ import annotations

import click

from sandbox_agent.cli.lazy_group import LazyGroup

_PACKAGE = "sandbox_agent.cli.api"

_API = {
    "health": (f"{_PACKAGE}.health_and_openapi:health", "Check whether the server is up."),
    "openapi": (f"{_PACKAGE}.health_and_openapi:openapi", "Print the OpenAPI document of the server."),
    "agents": (f"{_PACKAGE}.api_commands:agents", "List, show and install agents."),
    "acp": (f"{_PACKAGE}.api_commands:acp", "Send ACP messages to agent instances."),
    "fs": (f"{_PACKAGE}.api_commands:fs", "Read, write and change files of the sandbox."),
    "processes": (f"{_PACKAGE}.api_commands:processes", "List, read and end processes of the sandbox."),
    "config": (f"{_PACKAGE}.api_commands:config", "Read and write MCP servers and skills of a directory."),
}

_AGENTS = {
    "list": (f"{_PACKAGE}.agents:list_agents", "List all agents of the server."),
    "show": (f"{_PACKAGE}.agents:show_agent", "Show one agent with version, models and modes."),
    "install": (f"{_PACKAGE}.agents:install_agent", "Install an agent on the server."),
    "report": (f"{_PACKAGE}.agents:report", "Print models, modes and thought levels of all agents."),
}

_ACP = {
    "list": (f"{_PACKAGE}.acp:list_instances", "List all agent instances."),
    "post": (f"{_PACKAGE}.acp:post", "Send one message to an instance."),
    "stream": (f"{_PACKAGE}.acp:stream", "Follow the messages of an instance."),
    "close": (f"{_PACKAGE}.acp:close", "End an instance."),
}

_FS = {
    "ls": (f"{_PACKAGE}.fs:ls", "List a directory."),
    "cat": (f"{_PACKAGE}.fs:cat", "Write a file to stdout."),
    "get": (f"{_PACKAGE}.fs:get", "Copy a file to this machine."),
    "put": (f"{_PACKAGE}.fs:put", "Copy a file into the sandbox."),
    "stat": (f"{_PACKAGE}.fs:stat", "Show one file or directory."),
    "mkdir": (f"{_PACKAGE}.fs:mkdir", "Create a directory."),
    "mv": (f"{_PACKAGE}.fs:mv", "Move or rename."),
    "rm": (f"{_PACKAGE}.fs:rm", "Delete."),
    "upload": (f"{_PACKAGE}.fs:upload", "Copy a directory, or unpack a tar, into the sandbox."),
    "download": (f"{_PACKAGE}.fs:download", "Copy a directory to this machine."),
}

_PROCESSES = {
    "list": (f"{_PACKAGE}.processes:list_processes", "List all processes."),
    "show": (f"{_PACKAGE}.processes:show_process", "Show one process."),
    "logs": (f"{_PACKAGE}.processes:logs", "Write the output of a process to stdout."),
    "input": (f"{_PACKAGE}.processes:send_input", "Write stdin to the input of a process."),
    "stop": (f"{_PACKAGE}.processes:stop", "Ask a process to end."),
    "kill": (f"{_PACKAGE}.processes:kill", "Kill a process and everything it started."),
    "delete": (f"{_PACKAGE}.processes:delete", "Forget an exited process."),
}

_CONFIG = {
    "mcp": (f"{_PACKAGE}.config:mcp", "MCP servers."),
    "skills": (f"{_PACKAGE}.config:skills", "Skills."),
}


@click.group(cls=LazyGroup, lazy=_API)
def api() -> None:
    """Call a running server: every endpoint is a command.

    The server is --endpoint or SANDBOX_AGENT_URL; its token is --token, --token-file or SANDBOX_AGENT_TOKEN.
    The token of a daemon on this machine is found automatically.
    """


agents = LazyGroup("agents", lazy=_AGENTS, help="List, show and install agents.")
acp = LazyGroup("acp", lazy=_ACP, help="Send ACP messages to agent instances.")
fs = LazyGroup(
    "fs",
    lazy=_FS,
    help="Read, write and change files of the sandbox; relative paths start at the server's home directory.",
)
processes = LazyGroup(
    "processes",
    lazy=_PROCESSES,
    help="List, read and end processes of the sandbox; `sandbox-agent exec` and `shell` start them.",
)
config = LazyGroup(
    "config", lazy=_CONFIG, help="Read and write MCP servers and skills of a directory of the sandbox."
)
