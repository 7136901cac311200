"""`api fs` and `api config`: every endpoint of the workspace from a shell."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest

from tests.cli.conftest import Api


@pytest.mark.clause("cli-api-files-and-config")
def test_a_file_goes_there_and_back(api: Api, tmp_path: Path) -> None:
    content = bytes(range(256)) * 1000
    (tmp_path / "local.bin").write_bytes(content)
    put = api("fs", "put", str(tmp_path / "local.bin"), "deep/er/file.bin").good().json
    assert put["bytesWritten"] == len(content)
    assert api("fs", "stat", "deep/er/file.bin").good().json["size"] == len(content)
    api("fs", "get", "deep/er/file.bin", str(tmp_path / "back.bin")).good()
    assert (tmp_path / "back.bin").read_bytes() == content


def test_stdin_and_stdout_work_too(api: Api) -> None:
    api("fs", "put", "-", "words.txt", stdin="some words\n").good()
    assert api("fs", "cat", "words.txt").good().out == "some words\n"


@pytest.mark.clause("cli-api-files-and-config")
def test_list_move_make_and_delete(api: Api) -> None:
    api("fs", "mkdir", "room").good()
    api("fs", "put", "-", "room/a.txt", stdin="a").good()
    api("fs", "mv", "room/a.txt", "room/b.txt").good()
    assert [entry["name"] for entry in api("fs", "ls", "room").good().json] == ["b.txt"]
    assert "b.txt" in api("fs", "ls", "room", "-o", "table").good().out
    refused = api("fs", "rm", "room")
    assert (refused.code, json.loads(refused.err)["status"]) == (1, 400)
    api("fs", "rm", "-r", "room").good()
    assert json.loads(api("fs", "stat", "room").err)["status"] == 404


@pytest.mark.clause("cli-api-files-and-config")
def test_directories_go_there_and_back(api: Api, tmp_path: Path) -> None:
    (tmp_path / "tree" / "sub").mkdir(parents=True)
    (tmp_path / "tree" / "sub" / "file.txt").write_text("leaf")
    assert api("fs", "upload", str(tmp_path / "tree"), "planted").good().json["paths"]
    api("fs", "download", "planted", str(tmp_path / "back")).good()
    assert (tmp_path / "back" / "sub" / "file.txt").read_text() == "leaf"


@pytest.mark.clause("cli-api-files-and-config")
def test_a_tar_file_is_unpacked(api: Api, tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text("1")
    with tarfile.open(tmp_path / "all.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "one.txt", "one.txt")
    api("fs", "upload", str(tmp_path / "all.tar.gz"), "unpacked").good()
    assert api("fs", "cat", "unpacked/one.txt").good().out == "1"


@pytest.mark.clause("cli-api-files-and-config")
def test_config_entries_are_written_listed_and_removed(api: Api, tmp_path: Path) -> None:
    where = ("-d", str(tmp_path))
    entry = json.dumps({"type": "local", "command": "npx", "args": ["-y", "thing"]})
    api("config", "mcp", "set", "thing", "--json", entry, *where).good()
    assert api("config", "mcp", "get", "thing", *where).good().json["command"] == "npx"
    assert list(api("config", "mcp", "list", *where).good().json["entries"]) == ["thing"]
    assert "npx -y thing" in api("config", "mcp", "list", "-o", "table", *where).good().out
    api("config", "mcp", "delete", "thing", *where).good()
    assert "not_found" in api("config", "mcp", "get", "thing", *where).err

    skill = json.dumps({"sources": [{"type": "local", "source": "/skills"}]})
    api("config", "skills", "set", "mine", "--json-file", "-", *where, stdin=skill).good()
    assert api("config", "skills", "get", "mine", *where).good().json["sources"][0]["source"] == "/skills"


def test_a_wrong_entry_is_refused_with_the_reason(api: Api, tmp_path: Path) -> None:
    result = api("config", "mcp", "set", "x", "--json", "{}", "-d", str(tmp_path))
    assert result.code == 1
    assert json.loads(result.err)["status"] == 400
