"""A client made with the Python SDK of ACP."""

from __future__ import annotations

from typing import Any

import acp
from acp.schema import AllowedOutcome, RequestPermissionResponse


class PythonClient(acp.Client):
    """Collects what the agent says, and allows everything once."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.asked = 0

    async def request_permission(
        self, session_id: str, tool_call: Any, options: list[Any], **_: Any
    ) -> RequestPermissionResponse:
        self.asked += 1
        return RequestPermissionResponse(
            outcome=AllowedOutcome(outcome="selected", option_id=options[0].option_id)
        )

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        if update.session_update == "agent_message_chunk":
            self.texts.append(update.content.text)
