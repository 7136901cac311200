"""The tree of `sandbox-agent api`."""

from __future__ import annotations

import click

from sandbox_agent.cli.lazy_group import LazyGroup

_HERE = "sandbox_agent.cli.api"


_API = {
    "health": (f"{_HERE}.server:health", "Is the server up."),
    "openapi": (f"{_HERE}.server:openapi", "The server's own description of its endpoints."),
    "agents": (f"{_HERE}.group:agents", "List, look at and install agents."),
    "acp": (f"{_HERE}.group:acp", "Talk to agent instances in ACP."),
    "fs": (f"{_HERE}.group:fs", "Files of the sandbox."),
    "config": (f"{_HERE}.group:config", "MCP servers and skills of a directory."),
}


_AGENTS = {
    "list": (f"{_HERE}.agents:list_agents", "All agents the server knows."),
    "show": (f"{_HERE}.agents:show_agent", "One agent, with version, models and modes."),
    "install": (f"{_HERE}.agents:install_agent", "Install an agent on the server."),
    "report": (f"{_HERE}.report:report", "Models, modes and thought levels of all agents."),
}


_ACP = {
    "list": (f"{_HERE}.acp:list_instances", "All agent instances."),
    "post": (f"{_HERE}.acp:post", "Send one message to an instance."),
    "stream": (f"{_HERE}.acp:stream", "Follow the messages of an instance."),
    "close": (f"{_HERE}.acp:close", "End an instance."),
}


_FS = {
    "ls": (f"{_HERE}.fs:ls", "List a directory."),
    "cat": (f"{_HERE}.fs:cat", "Write a file to stdout."),
    "get": (f"{_HERE}.fs:get", "Copy a file to this machine."),
    "put": (f"{_HERE}.fs:put", "Copy a file into the sandbox."),
    "stat": (f"{_HERE}.fs:stat", "Look at one file or directory."),
    "mkdir": (f"{_HERE}.fs:mkdir", "Make a directory."),
    "mv": (f"{_HERE}.fs:mv", "Move or rename."),
    "rm": (f"{_HERE}.fs:rm", "Delete."),
    "upload": (f"{_HERE}.fs_trees:upload", "Copy a directory, or unpack a tar, into the sandbox."),
    "download": (f"{_HERE}.fs_trees:download", "Copy a directory to this machine."),
}


_CONFIG = {
    "mcp": (f"{_HERE}.config:mcp", "MCP servers."),
    "skills": (f"{_HERE}.config:skills", "Skills."),
}


@click.group(cls=LazyGroup, lazy=_API)
def api() -> None:
    """Call a running server: every endpoint is a command.

    The server is --endpoint or SANDBOX_AGENT_URL, its token SANDBOX_AGENT_TOKEN, --token-file or --token.
    For the daemon of this machine the token is found by itself.
    """


@click.group(cls=LazyGroup, lazy=_AGENTS)
def agents() -> None:
    """List, look at and install agents."""


@click.group(cls=LazyGroup, lazy=_ACP)
def acp() -> None:
    """Talk to agent instances in ACP."""


@click.group(cls=LazyGroup, lazy=_FS)
def fs() -> None:
    """Files of the sandbox; relative paths start at the server's home directory."""


@click.group(cls=LazyGroup, lazy=_CONFIG)
def config() -> None:
    """MCP servers and skills of a directory of the sandbox."""
