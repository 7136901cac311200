"""Sending one request to the agent: posted once, and settled by its outcome.

A `POST` that was never sent may be repeated; one that broke is settled from the stream. An answer in the
body waits for its copy on the stream, which brings every earlier message first.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress

from sandbox_agent.sdk import json_codec
from sandbox_agent.sdk.errors import APIConnectionError, APIStatusError, SandboxAgentError
from sandbox_agent.sdk.transport.calls.answer_recovery import AnswerRecovery, CallOwner
from sandbox_agent.sdk.transport.calls.pending_call import PendingCall
from sandbox_agent.sdk.transport.http_api import HttpApi
from sandbox_agent.sdk.transport.retries import Retries, gateway_failed, never_sent

POST_HEADERS = {"content-type": "application/json", "accept": "application/json"}
# A request that was not refused within this time has reached the agent, if the stream of the agent is open.
ACCEPTED_AFTER_S = 0.5
# How long an answer in a POST body waits for its copy on the stream.
ANSWER_GRACE_S = 10.0


class PostSender:
    """Sends one call and settles it."""

    def __init__(
        self, connection: CallOwner, api: HttpApi, path: str, call: PendingCall, headers: Mapping[str, str]
    ) -> None:
        self._connection = connection
        self._api = api
        self._path = path
        self._call = call
        self._headers = headers
        self._acceptance: asyncio.TimerHandle

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
                await self._recover(error)
        else:
            call.accept()
            if status == 202:
                await self._recover(None)
            else:
                await self._answer(content)

    async def _post(self, body: bytes) -> tuple[int, bytes]:
        retries = Retries(self._api.max_retries, idempotent=False)
        while True:
            self._expect_acceptance()
            try:
                async with self._api.open(
                    "POST", self._path, body=body, headers=self._headers, unlimited=True, whole=True
                ) as response:
                    return response.status_code, response.content
            except (APIConnectionError, APIStatusError) as error:
                pause, failure = retries.pause_after(error), error
                if pause is None or self._connection.dead_server() is not None:
                    raise
            finally:
                self._acceptance.cancel()
            self._call.unsent = True
            await asyncio.sleep(pause)
            if self._call.settled:
                # The caller was told that the message was not sent and may have sent it again.
                raise failure
            self._call.unsent = False

    def _expect_acceptance(self) -> None:
        self._acceptance = asyncio.get_running_loop().call_later(ACCEPTED_AFTER_S, self._not_refused)

    def _not_refused(self) -> None:
        if self._connection.reader.connected:
            self._call.accept()
        else:
            # The server may have been restarted, and its refusal be late: what comes first decides.
            self._expect_acceptance()

    async def _refused(self, error: APIStatusError) -> None:
        gone = await self._connection.status.agent_gone(error)
        if gone is not None:
            if not gone.never_delivered:
                self._call.accept()
                # Read the rest of the stream before the error, so that no update of the turn is lost.
                with suppress(SandboxAgentError):
                    await self._connection.status.drain()
            self._connection.lose(gone)
            self._call.fail(gone)
        elif gateway_failed(error):
            # The response was lost on its way; the agent is still working.
            await self._recover(error)
        else:
            self._call.fail(error)

    async def _answer(self, content: bytes) -> None:
        try:
            envelope = json_codec.decode(content)
        except ValueError as error:
            await self._recover(error)
            return
        await asyncio.wait([self._call.future], timeout=ANSWER_GRACE_S)
        if not self._call.settled:
            self._connection.handler.answered_by_body(self._call, envelope)

    async def _recover(self, cause: BaseException | None) -> None:
        patience_s = self._api.network_patience_s
        await AnswerRecovery(self._connection, self._call, cause, patience_s).run()
