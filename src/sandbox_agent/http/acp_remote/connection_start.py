"""What starts a connection: the choice of the agent, and the headers of the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sandbox_agent.bridge.agent_starter import Bootstrap
from sandbox_agent.errors import InvalidRequest, UnsupportedAgent
from sandbox_agent.http.acp.post_options import parse_environment
from sandbox_agent.http.acp_remote.connections import CONNECTION_ID

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sandbox_agent.http.messages import HeaderList, Query
    from sandbox_agent.http.services import Services


def read_bootstrap(
    services: Services, agent: str | None, query: Query, headers: Mapping[bytes, bytes]
) -> Bootstrap:
    """How to start the agent of a connection; `agent` is the one in the path.

    Raises InvalidRequest or UnsupportedAgent.
    """
    in_query = query.get("agent")
    if agent is not None and in_query not in (None, agent):
        raise InvalidRequest(f"the path names the agent '{agent}', the query '{in_query}'")
    agent = agent or in_query or services.settings.default_agent
    if agent is None:
        raise InvalidRequest(
            "no agent: use /acp/{agent} or /acp?agent=, or start the server with --default-agent"
        )
    if agent not in services.catalog:
        raise UnsupportedAgent(agent)
    environment = headers.get(b"x-sandbox-agent-env")
    return Bootstrap(
        agent, query.get("cwd"), None if environment is None else parse_environment(environment, services)
    )


def start_headers(connection_id: str) -> HeaderList:
    """Headers of the response that starts a connection.

    Load balancers in front of several servers use the cookie to find the one with the connection.
    """
    return [
        (CONNECTION_ID, connection_id.encode()),
        (b"set-cookie", b"acp_connection=%b; Path=/; HttpOnly; SameSite=Strict" % connection_id.encode()),
        (b"access-control-expose-headers", b"Acp-Connection-Id"),
    ]
