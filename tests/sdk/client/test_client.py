"""`AsyncSandboxAgent`: options, the first request, and the addresses it gives."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from sandbox_agent import (
    APIConnectionError,
    AsyncSandboxAgent,
    MemoryStore,
    NotFoundError,
    SandboxProvider,
    SessionStore,
    SqliteStore,
    build_inspector_url,
)
from tests.sdk.conftest import Connect
from tests.sdk.live_server import LiveServer


@pytest.mark.clause("sdk-unknown-options")
async def test_a_session_option_that_does_not_exist_is_refused_by_name(client: AsyncSandboxAgent) -> None:
    with pytest.raises(TypeError, match=r"no option modle; it has .*model"):
        await client.sessions.create("mock", modle="x")  # type: ignore[call-arg]
    session = await client.sessions.create("mock", directory="/", mode="plan")
    assert session.directory == "/" and session.info.agent_mode == "plan"
    with pytest.raises(TypeError, match="title"):
        await client.sessions.resume(session.id, title="x")  # type: ignore[call-arg]


async def test_a_store_is_given_as_a_path_or_as_an_object(tmp_path: Path) -> None:
    client = AsyncSandboxAgent("http://127.0.0.1:9", store=tmp_path / "s.db")
    assert isinstance(client.store, SqliteStore) and isinstance(client.store, SessionStore)
    await client.aclose()
    store = MemoryStore()
    client = AsyncSandboxAgent("http://127.0.0.1:9", store=store)
    assert client.store is store
    await client.aclose()
    assert await store.get_session("x") is None, "a store of the caller stays open"


async def test_spawn_false_connects_to_the_server_that_runs(
    own_server: LiveServer, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SANDBOX_AGENT_URL", own_server.url)
    monkeypatch.setenv("SANDBOX_AGENT_TOKEN", own_server.token)
    async with await AsyncSandboxAgent.start(spawn=False) as client:
        assert client.base_url == own_server.url and client.provider is None
        with pytest.raises(NotFoundError) as failure:
            await client.fs.read("/no/such/file")
        assert failure.value.response.status_code == 404


async def test_start_takes_a_provider_only() -> None:
    with pytest.raises(TypeError, match="SandboxProvider, not"):
        await AsyncSandboxAgent.start("http://127.0.0.1:2468")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="abstract"):
        SandboxProvider()  # type: ignore[abstract]


@pytest.mark.clause("sdk-inspector-address")
def test_the_inspector_address_has_its_secrets_in_the_fragment() -> None:
    assert build_inspector_url("http://h:1/", "a b") == "http://h:1/ui/#token=a%20b"
    assert build_inspector_url("http://h", None, None, "s/1") == "http://h/ui/sessions/s%2F1"
    assert build_inspector_url("http://h", "t", None, "s") == "http://h/ui/sessions/s#token=t"
    headed = build_inspector_url("http://h", "t", {"X-A": "1"})
    assert headed == "http://h/ui/#token=t&headers=%7B%22X-A%22%3A%221%22%7D"


@pytest.mark.clause("sdk-inspector-address", "security-H7")
def test_the_page_takes_the_token_of_an_authorization_header_as_token() -> None:
    assert (
        build_inspector_url("http://h", headers={"Authorization": "Bearer a b"}) == "http://h/ui/#token=a%20b"
    )
    assert build_inspector_url("http://h", "t", {"authorization": "Bearer other"}) == "http://h/ui/#token=t"
    assert build_inspector_url("http://h", None, {"authorization": "Basic eA=="}) == "http://h/ui/"


async def test_the_first_request_of_a_new_client_waits_for_the_server(tmp_path: Path) -> None:
    server = LiveServer(tmp_path / "server")
    async with AsyncSandboxAgent(server.url, server.token) as hasty:
        with pytest.raises(APIConnectionError):
            await hasty.agents.list()
    client = AsyncSandboxAgent(server.url, server.token, wait_for_health=60)
    waiting = [asyncio.create_task(client.agents.list()) for _ in range(2)]
    try:
        await server.start()
        assert all("mock" in {agent.id for agent in agents} for agents in await asyncio.gather(*waiting))
        assert client.provider is None
    finally:
        await client.aclose()
        await server.stop()


class ForeignServer(SandboxProvider):
    """Gives a server that runs already; its release takes until the client is no longer waited for."""

    name = "foreign"

    def __init__(self, server: LiveServer) -> None:
        self.server = server
        self.releasing = asyncio.Event()

    async def create(self) -> str:
        return "one"

    async def get_url(self, sandbox_id: str) -> str:
        return self.server.url

    async def get_token(self, sandbox_id: str) -> str:
        return self.server.token

    async def destroy(self, sandbox_id: str) -> None:
        self.releasing.set()
        await asyncio.Event().wait()


async def test_connections_are_closed_if_closing_the_client_is_cancelled(own_server: LiveServer) -> None:
    provider = ForeignServer(own_server)
    client = await AsyncSandboxAgent.start(provider)
    await client.health()
    closing = asyncio.create_task(client.aclose())
    await asyncio.wait_for(provider.releasing.wait(), 10)
    closing.cancel()
    await asyncio.wait([closing], timeout=10)
    assert closing.cancelled()
    assert all(one.is_closed for one in client._api._clients._made)
    assert client._api.closed and client._api._clients._made
