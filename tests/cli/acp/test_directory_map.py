"""`--map`: only the directories of sessions change, in both directions."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox_agent.cli.acp.directory_map import DirectoryMap

MAP = DirectoryMap.parse(["/home/me/project=/workspace", "/home/me/project/deep=/deep/"])

TEXTS = st.text(max_size=12) | st.sampled_from(["cwd", "/home/me/project", '"cwd":"/home/me/project"'])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.clause("front-map")
@pytest.mark.parametrize(
    ("local", "remote"),
    [
        ("/home/me/project", "/workspace"),
        ("/home/me/project/src", "/workspace/src"),
        ("/home/me/project/deep/er", "/deep/er"),
        ("/home/me/projects", "/home/me/projects"),
        ("/elsewhere", "/elsewhere"),
    ],
)
@pytest.mark.parametrize(
    "method", ["session/new", "session/load", "session/resume", "session/fork", "session/list"]
)
def test_directories_of_sessions_are_replaced(method: str, local: str, remote: str) -> None:
    params = {"cwd": local, "additionalDirectories": [local, "/x"]}
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    changed = json.loads(MAP.to_remote(json.dumps(message).encode()))
    assert changed["params"] == {"cwd": remote, "additionalDirectories": [remote, "/x"]}
    answer = {"jsonrpc": "2.0", "id": 1, "result": {"sessions": [{"sessionId": "s", "cwd": remote}]}}
    back = json.loads(MAP.to_local(json.dumps(answer).encode()))
    assert back["result"]["sessions"] == [{"sessionId": "s", "cwd": local}]


@pytest.mark.clause("front-map")
def test_the_root_of_the_server_can_be_mapped() -> None:
    root = DirectoryMap.parse(["/srv=/"])
    for local, remote in ((b"/srv", b"/"), (b"/srv/a", b"/a")):
        opened = b'{"method":"session/new","params":{"cwd":"%b"}}'
        assert root.to_remote(opened % local) == opened % remote
        assert b'"%b"' % local in root.to_local(b'{"result":{"sessions":[{"cwd":"%b"}]}}' % remote)


@pytest.mark.clause("front-map")
def test_every_other_byte_stays() -> None:
    params = b'{"x":1e400 , "cwd" :  "\\/home\\/me/project" ,"y":[]}'
    message = b'{ "id":1.0,"method" : "session\\/new", "params": %b}' % params
    assert MAP.to_remote(message) == message.replace(b'"\\/home\\/me/project"', b'"/workspace"')
    inside = (
        b'{"method":"session/prompt","params":{"prompt":[{"cwd":"/home/me/project"}],"_meta":{"cwd":"/srv"}}}'
    )
    assert MAP.to_remote(inside) == inside
    for method in (b'"_vendor/run"', b"7", b'["session/new"]'):
        other = b'{"method":%b,"params":{"cwd":"/home/me/project"}}' % method
        assert MAP.to_remote(other) == other


@pytest.mark.clause("front-map")
@given(VALUES, VALUES, st.integers(0, 2))
def test_only_the_directory_changes_in_any_message(one: Any, other: Any, indent: int) -> None:
    message = {
        "a": one,
        "method": "session/new",
        "params": {"b": other, "cwd": "/home/me/project/ü", "c": one},
    }
    text = json.dumps(message, indent=indent or None, ensure_ascii=indent == 2).encode()
    changed = json.loads(MAP.to_remote(text))
    assert changed.pop("params").pop("cwd") == "/workspace/ü"
    assert changed["a"] == one
    assert DirectoryMap.parse([]).to_remote(text) == text


@pytest.mark.parametrize(
    "text", [b"", b"{", b'{"method":1,"cwd"', b'["cwd","method"]', b'{"method":"x","params":"cwd"}']
)
def test_what_is_not_understood_is_left_alone(text: bytes) -> None:
    assert MAP.to_remote(text) == text


@pytest.mark.parametrize("text", ["/a", "a=/b", "/a=b", "="])
def test_a_wrong_map_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="two absolute paths"):
        DirectoryMap.parse([text])
