"""One request on its way to the agent: posted once, and settled by whatever comes of that.

A `POST` that was never sent may be repeated for a moment; one that broke is settled from the stream. An
answer in the body waits for its copy on the stream, which brings everything that was said before it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from sandbox_agent.sdk import json_codec
from sandbox_agent.sdk.errors import AgentExitedError, APIConnectionError, APIStatusError, exit_error
from sandbox_agent.sdk.transport.answer_recovery import AnswerRecovery, CallOwner
from sandbox_agent.sdk.transport.http_api import HttpApi, network_errors
from sandbox_agent.sdk.transport.pending_call import PendingCall
from sandbox_agent.sdk.transport.retries import Retries, gateway_failed, never_sent

POST_HEADERS = {"content-type": "application/json", "accept": "application/json"}
# A prompt that was not refused for this long is with the agent.
ACCEPTED_AFTER_S = 0.5
# How long an answer in a POST body waits for its copy on the stream, which brings what came before it.
ANSWER_GRACE_S = 10.0


class RequestSender:
    """Sends one call and sees to it that it is settled."""

    def __init__(
        self, connection: CallOwner, api: HttpApi, path: str, call: PendingCall, headers: Mapping[str, str]
    ) -> None:
        self._connection = connection
        self._api = api
        self._path = path
        self._call = call
        self._headers = headers

    async def run(self, body: bytes) -> None:
        """Post the request; when this returns, the call is settled."""
        call = self._call
        try:
            status, content = await self._post(body)
        except APIStatusError as error:
            await self._refused(error)
        except APIConnectionError as error:
            if never_sent(error):
                dead = self._connection.dead_server()
                if dead is not None:
                    self._connection.lose(dead)
                call.fail(dead or error)
            else:
                await self._settle(error)
        else:
            call.accept()
            if status == 202:
                await self._settle(None)
            else:
                await self._answer(content)

    async def _post(self, body: bytes) -> tuple[int, bytes]:
        retries = Retries(self._api.max_retries, idempotent=False)
        while True:
            timer = asyncio.get_running_loop().call_later(ACCEPTED_AFTER_S, self._call.accept)
            try:
                async with self._api.open(
                    "POST", self._path, body=body, headers=self._headers, unlimited=True
                ) as response:
                    with network_errors(f"POST {self._path}"):
                        return response.status_code, await response.aread()
            except (APIConnectionError, APIStatusError) as error:
                pause = retries.pause_after(error)
                if pause is None or self._connection.dead_server() is not None:
                    raise
            finally:
                timer.cancel()
            self._call.unsent = True
            await asyncio.sleep(pause)
            self._call.unsent = False

    async def _refused(self, error: APIStatusError) -> None:
        gone = exit_of(error)
        if gone is not None:
            if not gone.never_delivered:
                self._call.accept()
                # The stream's last words go before the error, so that no update of the turn is lost.
                await self._connection.status.drain()
            self._connection.lose(gone)
            self._call.fail(gone)
        elif gateway_failed(error):
            # The response was cut on its way, the agent works on.
            await self._settle(error)
        else:
            self._call.fail(error)

    async def _answer(self, content: bytes) -> None:
        try:
            envelope = json_codec.decode(content)
        except ValueError as error:
            await self._settle(error)
            return
        await asyncio.wait([self._call.future], timeout=ANSWER_GRACE_S)
        if not self._call.settled:
            self._connection.answered_by_body(self._call, envelope)

    async def _settle(self, cause: BaseException | None) -> None:
        await AnswerRecovery(self._connection, self._call, cause).run()


def exit_of(error: APIStatusError) -> AgentExitedError | None:
    """The meaning of an answer that says: there is no agent behind this id any more."""
    if error.error_type == "agent_process_exited":
        return exit_error(error.problem)
    never_seen = error.status_code == 400 and "missing required 'agent'" in str(error.problem.get("detail"))
    if error.error_type == "session_not_found" or never_seen:
        # Closed by somebody, or the server was restarted and has never heard of the id.
        gone = AgentExitedError(
            "the agent instance no longer exists on the server", vanished=True, never_delivered=True
        )
        gone.__cause__ = error
        return gone
    return None
