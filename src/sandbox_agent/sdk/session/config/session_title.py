"""A caller's title, told to the agent.

Claude Code and Codex ask a model for the title of a new session that has none. Those tokens are in no usage
report, and the model may be one that the caller's proxy does not know.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sandbox_agent.sdk.errors import SandboxAgentError
from sandbox_agent.sdk.session.channel.session_channel import SessionChannel

_MAX_CHARS = 200


def with_title(agent: str, init: Mapping[str, Any], title: str | None) -> dict[str, Any]:
    """The parameters of `session/new` with the title, for an agent that takes it there."""
    if not title or agent != "claude":
        return dict(init)
    own = init.get("_meta") or {}
    vendor = own.get("claudeCode") or {}
    options = {"title": title[:_MAX_CHARS], **(vendor.get("options") or {})}
    return {**init, "_meta": {**own, "claudeCode": {**vendor, "options": options}}}


async def tell_title(channel: SessionChannel) -> dict[str, str]:
    """Set the title where the agent has a method for it; returns what was not applied, and why."""
    title, instance = channel.record.title, channel.instance
    if not title or instance is None:
        return {}
    if not instance.offers("sessionCapabilities", "title"):
        return {}
    try:
        await channel.outgoing.request(
            "session/set_title", {"sessionId": channel.native_id, "title": title[:_MAX_CHARS]}
        )
    except SandboxAgentError as error:
        return {"title": str(error)}
    return {}
