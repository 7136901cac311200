"""The ACP methods of the mock agent; turn_scheduler.py runs the turns.

`AcpMethods.call` returns the result of a request, or None for a prompt, which its turn answers later.
"""

from __future__ import annotations

import os
from typing import Any

from sandbox_agent.agents.mock import config_options, protocol_v2, updates
from sandbox_agent.agents.mock.client_link import ClientLink
from sandbox_agent.agents.mock.jsonrpc_lines import Json, JsonRpcError
from sandbox_agent.agents.mock.mock_sessions import MockSession, SessionStore
from sandbox_agent.agents.mock.prompt import Prompt
from sandbox_agent.agents.mock.scripts.commands import script_for
from sandbox_agent.agents.mock.scripts.script_steps import Script, SendUpdate
from sandbox_agent.agents.mock.turn_scheduler import MockTurn, TurnScheduler, estimated_tokens
from sandbox_agent.jsonrpc_error_codes import AUTH_REQUIRED, INVALID_PARAMS, METHOD_NOT_FOUND

PROTOCOL_VERSION = 1
# The version of the scripts, not of the package: importlib.metadata would add to the start-up time.
MOCK_VERSION = "1.0.0"

CAPABILITIES: Json = {
    "loadSession": True,
    "promptCapabilities": {"image": True, "audio": True, "embeddedContext": True},
    "mcpCapabilities": {"http": True, "sse": True},
    "sessionCapabilities": {"list": {}, "resume": {}, "close": {}, "delete": {}, "fork": {}},
    "auth": {"logout": {}},
}
LOGIN = "mock-login"
_NEEDS_LOGIN = frozenset(("session/new", "session/load", "session/resume", "session/fork", "session/prompt"))


def _require(params: Json, name: str, kind: type, described: str) -> Any:
    value = params.get(name)
    if not isinstance(value, kind) or isinstance(value, bool):
        raise JsonRpcError(INVALID_PARAMS, "Invalid params", {"detail": f"{name} must be {described}"})
    return value


def _require_text(params: Json, name: str) -> str:
    text: str = _require(params, name, str, "a string")
    return text


def _require_directory(params: Json) -> str:
    cwd = _require_text(params, "cwd")
    if not os.path.isabs(cwd):
        raise JsonRpcError(INVALID_PARAMS, "Invalid params", {"detail": "cwd must be an absolute path"})
    return cwd


_METHODS_OF_OTHER_VERSION = {
    1: frozenset(("auth/login", "auth/logout")),
    2: frozenset(("authenticate", "logout", "session/load", "session/set_mode", "session/fork")),
}


class AcpMethods:
    """The methods a client can call."""

    def __init__(self, link: ClientLink, sessions: SessionStore, turns: TurnScheduler) -> None:
        self._link = link
        self._sessions = sessions
        self._turns = turns
        self._client: Json = {}
        self._logged_in = True
        self._table = {
            "initialize": self._initialize,
            "authenticate": self._authenticate,
            "logout": self._logout,
            "auth/login": self._authenticate,
            "auth/logout": self._logout,
            "session/new": self._new,
            "session/load": self._load,
            "session/resume": self._resume,
            "session/fork": self._fork,
            "_session/steering": self._steer,
            "session/list": self._list,
            "session/close": self._close,
            "session/delete": self._delete,
            "session/set_mode": self._set_mode,
            "session/set_config_option": self._set_config_option,
        }

    def call(self, request_id: Any, method: str, params: Json) -> Json | None:
        """The result of a request; None if a turn answers it later.

        Raises:
            JsonRpcError: to be sent as the answer.
        """
        if method in _NEEDS_LOGIN and not self._logged_in:
            raise JsonRpcError(AUTH_REQUIRED, "Authentication required", {"detail": "logged out"})
        if method == "session/prompt":
            self._prompt(request_id, params)
            return None
        handler = self._table.get(method)
        if handler is None or method in _METHODS_OF_OTHER_VERSION[self._link.version]:
            raise JsonRpcError(METHOD_NOT_FOUND, "Method not found", {"method": method})
        return handler(params)

    def notify(self, method: str, params: Json) -> None:
        """Handle a notification; unknown ones are ignored, as JSON-RPC requires."""
        if method == "session/cancel":
            try:
                self._turns.cancel_session(self._session(params))
            except JsonRpcError:
                return  # There is no such session, and notifications have no answer.
        elif method == "$/cancel_request":
            self._turns.cancel_request(params.get("requestId"))

    def _session(self, params: Json) -> MockSession:
        return self._sessions.live(_require_text(params, "sessionId"))

    def _send_update(self, session: MockSession, update: Json) -> None:
        self._link.update(session.id, update)

    def _initialize(self, params: Json) -> Json:
        wanted = _require(params, "protocolVersion", int, "a number")
        self._link.version = protocol_v2.VERSION if wanted >= protocol_v2.VERSION else PROTOCOL_VERSION
        is_v2 = self._link.version == protocol_v2.VERSION
        client = params.get("capabilities" if is_v2 else "clientCapabilities")
        self._client = client if isinstance(client, dict) else {}
        info = {"name": "mock", "title": "Mock agent", "version": MOCK_VERSION}
        if is_v2:
            return {
                "protocolVersion": protocol_v2.VERSION,
                "info": info,
                "capabilities": protocol_v2.CAPABILITIES,
                "authMethods": [{"type": "agent", "methodId": LOGIN, "name": "Mock login"}],
            }
        return {
            "protocolVersion": PROTOCOL_VERSION,
            "agentCapabilities": CAPABILITIES,
            "agentInfo": info,
            "authMethods": [{"id": LOGIN, "name": "Mock login"}],
            "_meta": {"steering": {"supported": True}, **updates.product_meta(changedInput=True)},
        }

    def _authenticate(self, params: Json) -> Json:
        _require_text(params, "methodId")
        self._logged_in = True
        return {}

    def _logout(self, _params: Json) -> Json:
        self._logged_in = False
        return {}

    def _result(self, result: Json) -> Json:
        """The result of a method that opens a session, in the version of the connection."""
        return protocol_v2.session_result(result) if self._link.version == protocol_v2.VERSION else result

    def _set_servers(self, session: MockSession, params: Json) -> None:
        servers = params.get("mcpServers", [])
        if not isinstance(servers, list):
            raise JsonRpcError(INVALID_PARAMS, "Invalid params", {"detail": "mcpServers must be a list"})
        session.mcp_servers = servers
        meta = params.get("_meta")
        own = meta.get("mock") if isinstance(meta, dict) else None
        session.tools = own.get("tools") if isinstance(own, dict) else None

    def _new(self, params: Json) -> Json:
        session = self._sessions.create(_require_directory(params))
        self._set_servers(session, params)
        return self._result({"sessionId": session.id, **session.state()})

    def _open(self, params: Json) -> MockSession:
        cwd = _require_directory(params)
        session = self._sessions.open(_require_text(params, "sessionId"))
        self._set_servers(session, params)
        if session.cwd != cwd:
            session.cwd = cwd
            session.save_facts_later()
        return session

    def _load(self, params: Json) -> Json:
        session = self._open(params)
        for update in list(session.updates):
            self._send_update(session, update)
        return session.state()

    def _resume(self, params: Json) -> Json:
        replay_from = params.get("replayFrom")
        if self._link.version == 1 or replay_from is None:
            return self._result(self._open(params).state())
        if not isinstance(replay_from, dict) or replay_from.get("type") != "start":
            raise JsonRpcError(INVALID_PARAMS, "Invalid params", {"detail": "replayFrom must be the start"})
        return self._result(self._load(params))

    def _fork(self, params: Json) -> Json:
        cwd = _require_directory(params)
        copy = self._sessions.fork(self._sessions.open(_require_text(params, "sessionId")), cwd)
        self._set_servers(copy, params)
        return {"sessionId": copy.id, **copy.state()}

    def _steer(self, params: Json) -> Json:
        """Take a message into the running turn: an extension that Claude and Codex share."""
        session = self._session(params)
        if not self._turns.is_running(session):
            return {"outcome": "promptRequired", "reason": "noRunningTurn"}
        text = Prompt(session, params, self._client).text
        self._send_update(session, updates.message(f"You added: {text}\n"))
        return {"outcome": "injected"}

    def _list(self, params: Json) -> Json:
        cursor = params.get("cursor")
        if cursor is not None and not (isinstance(cursor, str) and cursor.isdecimal() and len(cursor) < 10):
            raise JsonRpcError(INVALID_PARAMS, "Invalid params", {"detail": "cursor is not one of mine"})
        cwd = _require_text(params, "cwd") if params.get("cwd") is not None else None
        infos, following = self._sessions.page(cwd, int(cursor) if cursor else 0)
        page: Json = {"sessions": infos}
        if following is not None:
            page["nextCursor"] = str(following)
        return page

    def _close(self, params: Json) -> Json:
        session = self._session(params)
        self._turns.cancel_session(session)
        self._sessions.close(session.id)
        return {}

    def _delete(self, params: Json) -> Json:
        session = self._sessions.open(_require_text(params, "sessionId"))
        self._turns.cancel_session(session)
        self._sessions.delete(session.id)
        return {}

    def _set_mode(self, params: Json) -> Json:
        session = self._session(params)
        self._choose(session, *config_options.check_value("mode", params.get("modeId")))
        return {}

    def _set_config_option(self, params: Json) -> Json:
        session = self._session(params)
        self._choose(session, *config_options.check_value(params.get("configId"), params.get("value")))
        return self._result({"configOptions": config_options.config_options(session.values)})

    def _choose(self, session: MockSession, option: str, value: str) -> None:
        session.choose(option, value)
        if option == "mode":
            self._send_update(session, config_options.mode_update(session.values))
        self._send_update(session, config_options.config_update(session.values))

    def _prompt(self, request_id: Any, params: Json) -> None:
        prompt = Prompt(self._session(params), params, self._client, self._link.version)
        prompt.session.set_default_title(prompt.text)
        for block in prompt.blocks:
            prompt.session.record(updates.user_message(block))
        self._link.prompt_accepted(request_id, prompt.session.id, updates.new_uuid(), prompt.blocks)
        tokens = estimated_tokens(prompt.text)
        self._turns.start(MockTurn(request_id, prompt.session, _full_script(prompt), tokens))


def _full_script(prompt: Prompt) -> Script:
    """Confirm the attachments first, then run the command."""
    if prompt.confirmations:
        yield SendUpdate(updates.message("\n".join(prompt.confirmations) + "\n"))
    return (yield from script_for(prompt))
