"""Generated configuration: entries over HTTP, damaged files on disk, agents files of users.

The answer is always the entry or a client error, never a fault of the server.
"""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox_agent.agents.catalog.catalog import Catalog, CatalogError
from tests.fuzz.effort import FUZZ
from tests.support.server_process import ServerProcess

names = st.text(min_size=1, max_size=40)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
keys = st.sampled_from(["type", "command", "args", "env", "url", "headers", "enabled", "timeout", "x"])
words = st.sampled_from(["local", "remote", "stdio", "http", "npx", "https://example.org", ["a", "b"], 5])
entries = st.dictionaries(keys, words | values, max_size=5)
# Pieces of an agents file, in any order and torn anywhere.
toml = st.lists(
    st.sampled_from(
        [
            "[agents.own]\n",
            "[[agents]]\n",
            'command = "true"\n',
            "command = 7\n",
            'args = ["a"]\n',
            "args = {}\n",
            'env = { A = "b" }\n',
            "env = []\n",
            'cwd = "/"\n',
            'id = "x"\n',
            "[agents.claude]\n",
            "[agents.'..']\n",
            "x = ",
            '"',
            "\x00",
        ]
    ),
    max_size=6,
).map("".join)


@pytest.mark.clause("fuzz-files")
@FUZZ
@given(name=names, entry=entries)
def test_an_entry_is_stored_as_what_it_means_or_refused(
    server: ServerProcess, name: str, entry: dict[str, Any]
) -> None:
    path = f"/v1/config/mcp?directory=.&mcpName={quote(name.encode('utf-8', 'replace'), safe='')}"
    headers = {"content-type": "application/json"}
    put = server.client.request("PUT", path, headers=headers, body=json.dumps(entry).encode())
    assert put.status in (204, 400, 422), (put.status, put.body)
    if put.status == 204:
        stored = server.client.get(path)
        assert stored.status == 200
        again = server.client.request("PUT", path, headers=headers, body=stored.body)
        assert again.status == 204 and server.client.get(path).body == stored.body
        assert server.client.request("DELETE", path).status == 204
    else:
        assert put.json()["detail"]


@pytest.mark.clause("fuzz-files")
@FUZZ
@given(data=st.binary(max_size=60) | values.map(lambda value: json.dumps(value).encode()))
def test_a_damaged_file_is_reported_and_kept(server: ServerProcess, data: bytes) -> None:
    file = server.home / "broken" / ".sandbox-agent" / "config" / "mcp.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)
    for method, body in (("GET", None), ("PUT", b'{"type":"local","command":"x"}')):
        answer = server.client.request(
            method,
            "/v1/config/mcp?directory=broken&mcpName=a",
            headers={"content-type": "application/json"},
            body=body,
        )
        assert b"internal_error" not in answer.body, answer.body
        if answer.status >= 400:
            assert answer.json()["detail"]
            assert answer.status == 404 or file.read_bytes() == data, "what cannot be read is not overwritten"


@pytest.mark.clause("fuzz-files")
@FUZZ
@given(text=toml)
def test_an_agents_file_is_loaded_or_its_fault_is_reported(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    file = tmp_path_factory.getbasetemp() / "agents.toml"
    file.write_text(text)
    try:
        catalog = Catalog.load(file)
    except CatalogError as error:
        assert str(file) in str(error)
        return
    for agent_id in catalog.ids():
        catalog.get(agent_id)
