"""The permission request of an agent, and ready-made callbacks that answer it.

A callback, plain or async, gets a `PermissionRequest` and returns the reply; None leaves it open for
`session.reply_permission`. A time-out never approves anything. `pending_requests.py` receives the requests.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from sandbox_agent.sdk.universal.replies import choose_option
from sandbox_agent.sdk.universal.user_request_models import PendingPermission, PermissionOption

PermissionReply = Literal["once", "always", "reject"]


@dataclass(frozen=True, slots=True)
class PermissionRequest:
    """An agent asks for permission before it acts."""

    id: str
    session_id: str
    action: str
    """What the agent wants to do, in its own words."""
    tool_call: Mapping[str, Any]
    options: tuple[PermissionOption, ...]
    created_at: int
    """The time of the request, in milliseconds since the epoch."""
    agent_session_id: str
    """The agent's own id of the session."""
    raw_request: Mapping[str, Any]
    """The parameters of the ACP request."""

    @property
    def kind(self) -> str | None:
        """The kind of tool: `read`, `edit`, `execute`, ...; None if the agent names none."""
        kind = self.tool_call.get("kind")
        return kind if isinstance(kind, str) else None

    @property
    def title(self) -> str:
        """What the agent calls the action, such as `Edit main.py`."""
        title = self.tool_call.get("title")
        return title if isinstance(title, str) else self.action

    @property
    def locations(self) -> tuple[str, ...]:
        """The paths of the files that are concerned."""
        found = self.tool_call.get("locations")
        entries = found if isinstance(found, list) else []
        return tuple(str(one["path"]) for one in entries if isinstance(one, Mapping) and "path" in one)

    @property
    def raw_input(self) -> Any:
        """The input of the tool as the agent gives it, such as `{"command": "ls"}`; None if it gives none."""
        return self.tool_call.get("rawInput")

    @property
    def available_replies(self) -> tuple[PermissionReply, ...]:
        """Which of `once`, `always` and `reject` the agent offers an option for."""
        replies: tuple[PermissionReply, ...] = ("once", "always", "reject")
        return tuple(reply for reply in replies if choose_option(self.options, reply) is not None)

    @classmethod
    def of(cls, pending: PendingPermission, session_id: str) -> PermissionRequest:
        return cls(
            id=pending.permission_id,
            session_id=session_id,
            action=pending.action,
            tool_call=pending.tool_call,
            options=tuple(pending.options),
            created_at=round(datetime.fromisoformat(pending.time).timestamp() * 1000),
            agent_session_id=str(pending.raw_request.get("sessionId", "")),
            raw_request=pending.raw_request,
        )


@dataclass(frozen=True, slots=True)
class Deny:
    """Reject a tool call and say why; the reason is recorded, and told to an agent that can be steered."""

    reason: str


@dataclass(frozen=True, slots=True)
class Allow:
    """Allow a tool call, with another input if `raw_input` is given.

    An agent that cannot change the input of a tool raises `UnsupportedPermissionReplyError`.
    """

    raw_input: Mapping[str, Any] | None = None
    reply: str = "once"
    """`once`, `always` or the id of an option."""


PermissionDecision = str | Allow | Deny | None
OnPermission = Callable[[PermissionRequest], PermissionDecision | Awaitable[PermissionDecision]]


def auto_approve(request: PermissionRequest) -> str:
    """Allow every request once, or always if the agent offers nothing else."""
    return "once" if "once" in request.available_replies else "always"


def auto_reject(request: PermissionRequest) -> str:
    """Reject every request."""
    return "reject"


def allow_kinds(*kinds: str) -> Callable[[PermissionRequest], str]:
    """Allow tools of these kinds (`read`, `search`, `edit`, ...) and reject all others."""

    def decide(request: PermissionRequest) -> str:
        return auto_approve(request) if request.kind in kinds else "reject"

    return decide


async def ask_terminal(request: PermissionRequest) -> str:
    """Ask the user of this terminal."""
    choices = "/".join(request.available_replies)
    while True:
        answer = (await asyncio.to_thread(input, f"{request.action}\n[{choices}] ")).strip().lower()
        if answer in request.available_replies:
            return answer
