"""The turns of an agent that speaks ACP v2 (draft).

Such an agent answers a prompt when it has accepted it, and reports the end of the turn with a `state_update`.
So that it counts as busy until then, the session of a prompt and the states are read. Only an instance whose
first answer names version 2 has this object: others pay one comparison per message.
"""

from __future__ import annotations

import msgspec

_PROMPT, _STATE = b'"session/prompt"', b'"state_update"'
# A longer line of the agent is no state and no answer to a prompt; reading 16 MB may take 50 ms.
_LONGEST_LINE_BYTES = 1024 * 1024


class _Update(msgspec.Struct, rename="camel"):
    session_update: str = ""
    state: str = ""


class _StateParams(msgspec.Struct, rename="camel"):
    session_id: str = ""
    update: _Update | None = None


class _StateMessage(msgspec.Struct):
    method: str = ""
    params: _StateParams | None = None
    result: msgspec.Raw = msgspec.Raw()


_decode = msgspec.json.Decoder(_StateMessage).decode


class V2Turns:
    __slots__ = ("_prompts", "_reported", "busy")

    def __init__(self) -> None:
        self.busy: set[str] = set()
        """The sessions in which the agent works, or waits for its user."""
        self._prompts: dict[bytes, str] = {}
        """The session of each prompt that is not answered, by the key of its id."""
        self._reported: set[str] = set()
        """Sessions whose state was reported since their last prompt was sent."""

    def asked(self, key: bytes, body: bytes) -> None:
        """A request is sent to the agent."""
        if _PROMPT in body and (message := _read(body)) and message.method == "session/prompt":
            if message.params is not None and message.params.session_id:
                self._prompts[key] = message.params.session_id
                self._reported.discard(message.params.session_id)

    def answered(self, key: bytes, line: bytes) -> None:
        """The agent has answered a request; a state that it reported meanwhile is newer."""
        session_id = self._prompts.pop(key, None)
        if session_id is not None and session_id not in self._reported:
            message = _read_line(line)
            if message is not None and message.result:
                self.busy.add(session_id)

    def written(self, block: bytes) -> None:
        """The agent has written lines."""
        if _STATE not in block:
            return
        for line in block.split(b"\n"):
            message = _read_line(line) if _STATE in line else None
            if message is None or message.params is None or message.params.update is None:
                continue
            update, session_id = message.params.update, message.params.session_id
            if update.session_update == "state_update":
                self._reported.add(session_id)
                if update.state == "idle":
                    self.busy.discard(session_id)
                else:
                    self.busy.add(session_id)


def _read_line(line: bytes) -> _StateMessage | None:
    return _read(line) if len(line) <= _LONGEST_LINE_BYTES else None


def _read(line: bytes) -> _StateMessage | None:
    try:
        return _decode(line)
    except (ValueError, RecursionError):
        return None  # Not a message of this form.
