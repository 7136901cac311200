"""The config file of a directory: no entry is lost, and a corrupt file is kept."""

from __future__ import annotations

import json
import multiprocessing
import os
import stat
import threading
from pathlib import Path

import msgspec
import pytest

from sandbox_agent.errors import Conflict, InvalidRequest, NotFound, PermissionDenied
from sandbox_agent.workspace.config.store import ConfigStore
from sandbox_agent.workspace.executor.progress_token import OperationCancelled, ProgressToken
from sandbox_agent.workspace.files.workspace import Workspace

ENTRY = b'{"type":"local","command":"x","args":[]}'


@pytest.fixture
def store(workspace: Workspace) -> ConfigStore:
    return ConfigStore(workspace, "mcp")


def config_file(directory: Path) -> Path:
    return directory / ".sandbox-agent/config/mcp.json"


@pytest.mark.clause("decision-25")
def test_the_file_is_pretty_sorted_and_readable_for_all(store: ConfigStore, home: Path) -> None:
    old = os.umask(0o077)
    try:
        for name in ("b", "a", "é/../x"):
            store.put(str(home / "new/project"), name, ENTRY, ProgressToken())
    finally:
        os.umask(old)
    file = config_file(home / "new/project")
    entry = json.loads(ENTRY)
    assert (
        file.read_text()
        == json.dumps({"a": entry, "b": entry, "é/../x": entry}, indent=2, ensure_ascii=False) + "\n"
    )
    assert stat.S_IMODE(file.stat().st_mode) == 0o644
    assert os.listdir(file.parent) == ["mcp.json"], "no lock, no temporary file"


def test_get_put_delete(store: ConfigStore, home: Path) -> None:
    directory = str(home)
    with pytest.raises(NotFound) as missing:
        store.get(directory, "a")
    assert missing.value.extensions == {"details": {"resource": "mcp", "id": "a"}}
    store.delete(directory, "a", ProgressToken())
    assert os.listdir(home) == [], "reading and deleting nothing creates nothing"
    store.put(directory, "a", ENTRY, ProgressToken())
    assert msgspec.json.decode(store.get(directory, "a")) == json.loads(ENTRY)
    store.delete(directory, "a", ProgressToken())
    store.delete(directory, "a", ProgressToken())
    assert store.load(directory) == {}


@pytest.mark.clause("config-entries")
def test_other_entries_keep_every_field_and_number(store: ConfigStore, home: Path) -> None:
    file = config_file(home)
    file.parent.mkdir(parents=True)
    file.write_text('{"z":{"type":"future","big":123456789012345678901234567890,"n":1.10,"a":null},"y":5}')
    store.put(str(home), "a", ENTRY, ProgressToken())
    text = file.read_text()
    assert "123456789012345678901234567890" in text
    assert "1.10" in text
    assert json.loads(text)["z"] == {
        "type": "future",
        "big": 123456789012345678901234567890,
        "n": 1.1,
        "a": None,
    }
    assert json.loads(text)["y"] == 5
    store.delete(str(home), "a", ProgressToken())
    assert list(json.loads(file.read_text())) == ["y", "z"]


def test_an_empty_file_has_no_entries(store: ConfigStore, home: Path) -> None:
    file = config_file(home)
    file.parent.mkdir(parents=True)
    file.write_text(" \n")
    assert store.load(str(home)) == {}
    store.put(str(home), "a", ENTRY, ProgressToken())
    assert list(store.load(str(home))) == ["a"]


@pytest.mark.clause("decision-25")
@pytest.mark.parametrize("content", [b"{", b"[]", b"null", b'"x"', b'{"a":}', b"\xff\xfe", b"{} {}"])
def test_a_corrupt_file_is_reported_and_never_overwritten(
    store: ConfigStore, home: Path, content: bytes
) -> None:
    file = config_file(home)
    file.parent.mkdir(parents=True)
    file.write_bytes(content)
    for call in (
        lambda: store.get(str(home), "a"),
        lambda: store.load(str(home)),
        lambda: store.put(str(home), "a", ENTRY, ProgressToken()),
        lambda: store.delete(str(home), "a", ProgressToken()),
    ):
        with pytest.raises(Conflict, match="not a JSON object"):
            call()
    assert file.read_bytes() == content


def test_a_file_in_the_place_of_a_directory_is_refused(store: ConfigStore, home: Path) -> None:
    (home / "f").touch()
    for call in (
        lambda: store.get(str(home / "f"), "a"),
        lambda: store.put(str(home / "f"), "a", ENTRY, ProgressToken()),
        lambda: store.delete(str(home / "f"), "a", ProgressToken()),
    ):
        with pytest.raises(InvalidRequest):
            call()
    (home / ".sandbox-agent").mkdir()
    (home / ".sandbox-agent/config").touch()
    with pytest.raises(InvalidRequest):
        store.put(str(home), "a", ENTRY, ProgressToken())


def test_relative_directories_start_at_the_working_directory(home: Path, tmp_path: Path) -> None:
    workspace = Workspace(home=str(home), cwd=str(tmp_path))
    try:
        ConfigStore(workspace, "skills").put("project/../p", "a", b"{}", ProgressToken())
    except NotFound:
        (tmp_path / "project").mkdir()
        ConfigStore(workspace, "skills").put("project/../p", "a", b"{}", ProgressToken())
    finally:
        workspace.close()
    assert (tmp_path / "p/.sandbox-agent/config/skills.json").exists()


@pytest.mark.clause("decision-48")
def test_config_stays_inside_the_root(bounded: Workspace, home: Path, tmp_path: Path) -> None:
    store = ConfigStore(bounded, "mcp")
    (home / "out").symlink_to(tmp_path)
    (home / "p").mkdir()
    (home / "p/.sandbox-agent").symlink_to(tmp_path)
    for directory in (str(tmp_path), "..", "out", "p", "/"):
        with pytest.raises(PermissionDenied):
            store.put(directory, "a", ENTRY, ProgressToken())
    store.put("fine", "a", ENTRY, ProgressToken())
    assert config_file(home / "fine").exists()
    assert os.listdir(tmp_path) == ["home"]


def test_writers_of_different_names_all_survive(store: ConfigStore, home: Path) -> None:
    store.put(str(home), "older", ENTRY, ProgressToken())
    threads = [
        threading.Thread(target=store.put, args=(str(home), f"{number}", ENTRY, ProgressToken()))
        for number in range(50)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert set(store.load(str(home))) == {f"{number}" for number in range(50)} | {"older"}


def _write_in_own_process(directory: str, prefix: str) -> None:
    store = ConfigStore(Workspace(home=directory), "mcp")
    for number in range(25):
        store.put(directory, f"{prefix}{number}", ENTRY, ProgressToken())


@pytest.mark.clause("decision-25")
def test_writers_in_two_processes_lose_nothing(store: ConfigStore, home: Path) -> None:
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_write_in_own_process, args=(str(home), prefix)) for prefix in "ab"]
    for process in processes:
        process.start()
    for process in processes:
        process.join(50)
        assert process.exitcode == 0
    assert len(store.load(str(home))) == 50


@pytest.mark.clause("decision-25")
def test_a_reader_never_sees_half_a_file(store: ConfigStore, home: Path) -> None:
    store.put(str(home), "first", ENTRY, ProgressToken())
    stop = threading.Event()

    def write() -> None:
        number = 0
        while not stop.is_set():
            number += 1
            store.put(str(home), f"name{number % 20}", ENTRY * 1, ProgressToken())

    thread = threading.Thread(target=write)
    thread.start()
    try:
        for _ in range(300):
            assert "first" in store.load(str(home))
    finally:
        stop.set()
        thread.join(10)


def test_a_writer_that_was_given_up_stops_waiting_for_the_lock(store: ConfigStore, home: Path) -> None:
    import fcntl

    store.put(str(home), "a", ENTRY, ProgressToken())
    held = os.open(config_file(home).parent, os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    progress = ProgressToken()
    errors: list[BaseException] = []

    def attempt() -> None:
        try:
            store.put(str(home), "b", ENTRY, progress)
        except OperationCancelled as exc:
            errors.append(exc)

    thread = threading.Thread(target=attempt)
    thread.start()
    progress.cancel()
    thread.join(10)
    os.close(held)
    assert len(errors) == 1
    assert list(store.load(str(home))) == ["a"]
