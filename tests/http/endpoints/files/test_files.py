"""The file endpoints over the wire."""

from __future__ import annotations

import contextlib
import io
import os
import socket
import tarfile
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.support.processes import wait_until
from tests.support.server_process import ServerProcess

from ..file_server import problem, running


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ServerProcess, httpx.Client]]:
    with running(tmp_path_factory.mktemp("files")) as pair:
        yield pair


@pytest.fixture
def api(live: tuple[ServerProcess, httpx.Client]) -> httpx.Client:
    return live[1]


@pytest.fixture
def home(live: tuple[ServerProcess, httpx.Client]) -> Path:
    return live[0].home


@pytest.fixture
def work(home: Path, request: pytest.FixtureRequest) -> Path:
    """A fresh directory below the server's home."""
    directory: Path = home / request.node.name.replace("/", "_")[:100]
    directory.mkdir()
    return directory


def put(api: httpx.Client, path: object, data: bytes, **headers: str) -> httpx.Response:
    return api.put("/v1/fs/file", params={"path": str(path)}, content=data, headers=headers)


def get(api: httpx.Client, path: object, **headers: str) -> httpx.Response:
    return api.get("/v1/fs/file", params={"path": str(path)}, headers=headers)


def tar_of(**files: bytes) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


# ---- shapes


@pytest.mark.clause("spec1-5.2-files")
def test_write_read_stat_and_list(api: httpx.Client, home: Path) -> None:
    written = put(api, "shapes/a.txt", b"hello")
    assert written.json() == {"path": f"{home}/shapes/a.txt", "bytesWritten": 5}
    read = get(api, "shapes/a.txt")
    assert (read.status_code, read.content) == (200, b"hello")
    assert read.headers["content-type"] == "application/octet-stream"
    assert read.headers["content-length"] == "5"
    assert read.headers["etag"] == written.headers["etag"]
    stat = api.get("/v1/fs/stat", params={"path": "shapes/a.txt"}).json()
    assert list(stat) == ["path", "entryType", "size", "modified", "symlink", "mode"]
    assert stat["modified"].endswith("+00:00")
    (entry,) = api.get("/v1/fs/entries", params={"path": "shapes"}).json()
    assert entry == {"name": "a.txt", **stat}


def test_without_a_path_the_home_directory_is_listed(api: httpx.Client, home: Path) -> None:
    (home / "listed").mkdir(exist_ok=True)
    for params in ({}, {"path": ""}):
        assert "listed" in [entry["name"] for entry in api.get("/v1/fs/entries", params=params).json()]


@pytest.mark.clause("spec1-5.2-files")
def test_mkdir_move_and_delete(api: httpx.Client, work: Path) -> None:
    made = api.post("/v1/fs/mkdir", params={"path": f"{work}/a/b"})
    assert made.json() == {"path": f"{work}/a/b"}
    (work / "a/b/f").write_bytes(b"f")
    moved = api.post("/v1/fs/move", json={"from": f"{work}/a", "to": f"{work}/c/d"})
    assert moved.json() == {"from": f"{work}/a", "to": f"{work}/c/d"}
    full = api.delete("/v1/fs/entry", params={"path": f"{work}/c"})
    assert problem(full, 400, "invalid_request")["detail"].endswith(f"directory is not empty: {work}/c")
    gone = api.delete("/v1/fs/entry", params={"path": f"{work}/c", "recursive": "true"})
    assert gone.json() == {"path": f"{work}/c"}
    assert os.listdir(work) == []


def test_a_long_listing_is_one_json_array(api: httpx.Client, work: Path) -> None:
    for number in range(2500):
        (work / f"{number}").touch()
    answer = api.get("/v1/fs/entries", params={"path": str(work)})
    assert {entry["name"] for entry in answer.json()} == {f"{number}" for number in range(2500)}
    for number in range(1500, 2500):
        (work / f"{number}").unlink()
    for number in range(1000, 1500):
        (work / f"{number}").unlink()
    assert len(api.get("/v1/fs/entries", params={"path": str(work)}).json()) == 1000


# ---- refusals


@pytest.mark.clause("decision-24")
@pytest.mark.parametrize(
    ("method", "url"),
    [
        ("GET", "/v1/fs/file"),
        ("GET", "/v1/fs/file?path=a&path=b"),
        ("GET", "/v1/fs/stat"),
        ("PUT", "/v1/fs/file"),
        ("POST", "/v1/fs/mkdir"),
        ("DELETE", "/v1/fs/entry"),
        ("DELETE", "/v1/fs/entry?path="),
        ("DELETE", "/v1/fs/entry?path=%20"),
        ("DELETE", "/v1/fs/entry?path=/&recursive=true"),
        ("DELETE", "/v1/fs/entry?path=a&recursive=yes"),
        ("GET", "/v1/fs/file?path=../x"),
        ("GET", "/v1/fs/file?path=%00"),
        ("GET", "/v1/fs/file?path=%ff"),
        ("GET", "/v1/fs/file?path=."),
        ("GET", "/v1/fs/entries?path=/etc/passwd"),
        ("GET", "/v1/fs/download"),
        ("POST", "/v1/fs/upload-batch"),
    ],
)
def test_what_cannot_be_understood_is_400(api: httpx.Client, method: str, url: str) -> None:
    problem(api.request(method, url), 400, "invalid_request")


@pytest.mark.clause("files-protected")
def test_the_home_directory_is_never_deleted_or_moved(api: httpx.Client, home: Path) -> None:
    for path in (str(home), f"{home}/", ".", f"{home}/../home", f"{home.parent}"):
        params = {"path": path, "recursive": "true"}
        problem(api.delete("/v1/fs/entry", params=params), 400, "invalid_request")
        body = {"from": path, "to": "/nowhere/else", "overwrite": True}
        problem(api.post("/v1/fs/move", json=body), 400, "invalid_request")
    assert home.is_dir()


@pytest.mark.clause("decision-24")
@pytest.mark.parametrize("path", ["missing", "missing/deeper", "/missing"])
def test_what_is_missing_is_404(api: httpx.Client, home: Path, path: str) -> None:
    absolute = path if path.startswith("/") else f"{home}/{path}"
    for method, url in (
        ("GET", "/v1/fs/file"),
        ("GET", "/v1/fs/stat"),
        ("GET", "/v1/fs/entries"),
        ("GET", "/v1/fs/download"),
        ("DELETE", "/v1/fs/entry"),
    ):
        found = problem(api.request(method, url, params={"path": path}), 404, "not_found")
        assert found["detail"] == f"not found: path {absolute}"
        assert found["details"] == {"resource": "path", "id": absolute}


@pytest.mark.clause("promise-N-file-limits")
@pytest.mark.parametrize(
    ("body", "content_type", "status", "kind"),
    [
        (b"{}", "application/json", 400, "invalid_request"),
        (b"[]", "application/json", 400, "invalid_request"),
        (b"{", "application/json", 400, "invalid_request"),
        (b"", "application/json", 400, "invalid_request"),
        (b'{"from":1,"to":"x"}', "application/json", 400, "invalid_request"),
        (b'{"from":"a","to":"b"}', "text/plain", 415, "unsupported_media_type"),
        (b'{"from":"missing","to":"b","more":1}', "application/json; charset=utf-8", 404, "not_found"),
        (b" " * (2 << 20) + b"{}", "application/json", 413, "payload_too_large"),
    ],
)
def test_bodies_of_move(api: httpx.Client, body: bytes, content_type: str, status: int, kind: str) -> None:
    answer = api.post("/v1/fs/move", content=body, headers={"content-type": content_type})
    problem(answer, status, kind)


# ---- ranges and conditions


@pytest.mark.clause("files-reading", "security-L6")
@pytest.mark.parametrize("size", [1000, 300_000])
def test_ranges(api: httpx.Client, work: Path, size: int) -> None:
    data = os.urandom(size)
    (work / "f").write_bytes(data)
    for header, begin, end in (
        ("bytes=0-99", 0, 100),
        ("bytes=10-", 10, size),
        ("bytes=-7", size - 7, size),
        (f"bytes={size - 1}-{size * 2}", size - 1, size),
        (f"bytes=-{size * 2}", 0, size),
        ("bytes=0-99999999999999999999", 0, size),
        ("bytes=3-" + "9" * 5000, 3, size),
        ("bytes=-" + "9" * 5000, 0, size),
        ("bytes=" + "0" * 5000 + "7-9", 7, 10),
        ("Bytes= 5-5", 5, 6),
    ):
        part = get(api, work / "f", range=header)
        assert part.status_code == 206, header
        assert part.content == data[begin:end]
        assert part.headers["content-range"] == f"bytes {begin}-{end - 1}/{size}"
        assert part.headers["content-length"] == str(end - begin)
    for header in (
        f"bytes={size}-",
        "bytes=" + "9" * 5000 + "-",
        "bytes=5-4",
        "bytes=-0",
        "bytes=0-1,3-4",
        "bytes=x-",
        "bytes=-",
        "bytes=",
    ):
        refused = get(api, work / "f", range=header)
        problem(refused, 416, "range_not_satisfiable")
        assert refused.headers["content-range"] == f"bytes */{size}"
    assert get(api, work / "f", range="lines=1-2").status_code == 200


def test_an_empty_file_has_no_range(api: httpx.Client, work: Path) -> None:
    (work / "f").touch()
    whole = get(api, work / "f")
    assert (whole.status_code, whole.content, whole.headers["content-length"]) == (200, b"", "0")
    problem(get(api, work / "f", range="bytes=0-"), 416, "range_not_satisfiable")


@pytest.mark.clause("files-reading")
@pytest.mark.parametrize("size", [1000, 300_000])
def test_head_has_the_headers_of_get(api: httpx.Client, work: Path, size: int) -> None:
    (work / "f").write_bytes(bytes(size))
    head = api.head("/v1/fs/file", params={"path": f"{work}/f"}, headers={"range": "bytes=0-1"})
    whole = get(api, work / "f")
    assert head.content == b""
    for header in ("content-length", "etag", "accept-ranges", "content-type"):
        assert head.headers[header] == whole.headers[header]
    assert head.status_code == 200
    missing = api.head("/v1/fs/file", params={"path": f"{work}/missing"})
    assert (missing.status_code, missing.content) == (404, b"")


@pytest.mark.clause("files-reading")
def test_if_none_match_and_if_range(api: httpx.Client, work: Path) -> None:
    etag = put(api, work / "f", b"one").headers["etag"]
    for header in (etag, f'"x", {etag}', f"W/{etag}", "*"):
        unchanged = get(api, work / "f", **{"if-none-match": header})
        assert (unchanged.status_code, unchanged.content) == (304, b"")
        assert unchanged.headers["etag"] == etag
    assert get(api, work / "f", **{"if-none-match": '"x"'}).status_code == 200
    assert get(api, work / "f", **{"range": "bytes=0-0", "if-range": etag}).status_code == 206
    assert get(api, work / "f", **{"range": "bytes=0-0", "if-range": '"x"'}).content == b"one"


@pytest.mark.clause("files-writing")
def test_conditional_writes(api: httpx.Client, work: Path) -> None:
    problem(put(api, work / "f", b"x", **{"if-match": "*"}), 412, "precondition_failed")
    assert os.listdir(work) == []
    etag = put(api, work / "f", b"one", **{"if-none-match": "*"}).headers["etag"]
    problem(put(api, work / "f", b"two", **{"if-none-match": "*"}), 412, "precondition_failed")
    problem(put(api, work / "f", b"two", **{"if-match": '"x"'}), 412, "precondition_failed")
    problem(put(api, work / "f", b"two", **{"if-none-match": etag}), 412, "precondition_failed")
    assert (work / "f").read_bytes() == b"one"
    assert put(api, work / "f", b"two", **{"if-match": etag}).status_code == 200
    assert (work / "f").read_bytes() == b"two"


# ---- streams


@pytest.mark.clause("files-reading")
def test_files_of_the_process_file_system(api: httpx.Client) -> None:
    assert b"VmRSS" in get(api, "/proc/self/status").content
    assert get(api, "/sys/kernel/mm/transparent_hugepage/enabled").content.endswith(b"\n")
    maps = get(api, "/proc/self/smaps")
    assert maps.status_code == 200
    assert len(maps.content) > 65536
    assert b"VmFlags" in maps.content[-200:]


def _open_below(server: ServerProcess, directory: Path) -> int:
    """Descriptors of the server that lead below a directory."""
    found = 0
    for fd in Path(f"/proc/{server.pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            found += os.readlink(fd).startswith(f"{directory}/")
    return found


@pytest.mark.clause("files-writing")
def test_a_broken_upload_leaves_the_old_content_and_no_temporary_file(
    live: tuple[ServerProcess, httpx.Client], work: Path
) -> None:
    server = live[0]
    (work / "f").write_bytes(b"old")
    for name in ("f", "new/deep/f"):
        with socket.create_connection(("127.0.0.1", server.port), timeout=10) as raw:
            head = (
                f"PUT /v1/fs/file?path={work}/{name} HTTP/1.1\r\nhost: localhost\r\n"
                f"authorization: Bearer {server.token}\r\ncontent-length: 1000000\r\n\r\n"
            )
            raw.sendall(head.encode() + bytes(600_000))
            wait_until(lambda: _open_below(server, work) > 0, 10, "the upload to begin")
        wait_until(lambda: _open_below(server, work) == 0, 10, "the upload to be given up")
        wait_until(lambda: sorted(os.listdir(work)) == ["f"], 10, "no trace of it")
    assert (work / "f").read_bytes() == b"old"


def test_a_killed_server_leaves_no_half_file(tmp_path: Path) -> None:
    with running(tmp_path) as (server, _):
        (server.home / "d").mkdir()
        uploads: list[socket.socket] = []
        for url in ("/v1/fs/file?path=d/f", "/v1/fs/upload-batch?path=d"):
            raw = socket.create_connection(("127.0.0.1", server.port), timeout=10)
            uploads.append(raw)
            head = (
                f"{'PUT' if 'file' in url else 'POST'} {url} HTTP/1.1\r\nhost: localhost\r\n"
                f"authorization: Bearer {server.token}\r\ncontent-type: application/x-tar\r\n"
                "content-length: 100000000\r\n\r\n"
            )
            info = tarfile.TarInfo("big")
            info.size = 90_000_000
            raw.sendall(head.encode() + info.tobuf() + bytes(1_000_000))
            wait_until(lambda: _open_below(server, server.home / "d") > 0, 10, "the upload to begin")
        server.process.kill()
        server.process.wait(10)
        for raw in uploads:
            raw.close()
        assert os.listdir(server.home / "d") == []


def test_a_client_that_leaves_in_the_middle_of_a_download_costs_nothing(
    live: tuple[ServerProcess, httpx.Client], work: Path
) -> None:
    server, api = live
    with (work / "big").open("wb") as big:
        big.truncate(1 << 30)

    with api.stream("GET", "/v1/fs/file", params={"path": f"{work}/big"}) as answer:
        pieces = answer.iter_raw(1000)  # held: once it is gone, so is the connection
        next(pieces)
        assert _open_below(server, work) == 1
    wait_until(lambda: _open_below(server, work) == 0, 10, "the file to be closed")


def test_a_download_of_a_file_that_shrinks_does_not_look_whole(api: httpx.Client, work: Path) -> None:
    with (work / "big").open("wb") as big:
        big.truncate(1 << 28)
    with api.stream("GET", "/v1/fs/file", params={"path": f"{work}/big"}) as answer:
        pieces = answer.iter_raw(1000)
        next(pieces)
        os.truncate(work / "big", 100)
        with pytest.raises(httpx.RemoteProtocolError):
            for _ in pieces:
                pass


@pytest.mark.clause("spec1-5.2-files", "files-download")
def test_upload_and_download_of_a_directory(api: httpx.Client, work: Path) -> None:
    data = tar_of(**{"a": b"A", "d/b": b"B" * 5000})
    answer = api.post(
        "/v1/fs/upload-batch",
        params={"path": f"{work}/to"},
        content=data,
        headers={"content-type": "application/x-tar"},
    )
    assert answer.json() == {"paths": [f"{work}/to/a", f"{work}/to/d/b"], "truncated": False}
    with api.stream("GET", "/v1/fs/download", params={"path": f"{work}/to"}) as down:
        assert down.headers["content-type"] == "application/x-tar"
        assert down.headers["content-disposition"] == "attachment; filename*=UTF-8''to.tar"
        packed = down.read()
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        assert sorted(archive.getnames()) == ["a", "d", "d/b"]


@pytest.mark.parametrize("content_type", ["application/x-tar-gz", "application/gzip", "text/plain", ""])
def test_the_content_type_of_an_archive_is_exact(api: httpx.Client, content_type: str) -> None:
    answer = api.post("/v1/fs/upload-batch", content=tar_of(a=b""), headers={"content-type": content_type})
    detail = problem(answer, 400, "invalid_request")["detail"]
    assert detail == "invalid request: content-type must be application/x-tar"


@pytest.mark.clause("files-archives")
def test_an_archive_with_an_escape_is_refused_by_name(api: httpx.Client, work: Path) -> None:
    answer = api.post(
        "/v1/fs/upload-batch",
        params={"path": f"{work}/to"},
        content=tar_of(**{"fine": b"", "../evil": b""}),
        headers={"content-type": "application/x-tar; x=y"},
    )
    assert "invalid relative path: ../evil" in problem(answer, 400, "invalid_request")["detail"]
    assert os.listdir(work) == ["to"]
    assert os.listdir(work / "to") == ["fine"]


@pytest.mark.clause("promise-N-file-limits")
def test_a_refused_archive_is_answered_while_the_client_still_sends(
    live: tuple[ServerProcess, httpx.Client], work: Path
) -> None:
    server = live[0]
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as raw:
        head = (
            f"POST /v1/fs/upload-batch?path={work} HTTP/1.1\r\nhost: localhost\r\n"
            f"authorization: Bearer {server.token}\r\ncontent-type: application/x-tar\r\n"
            "content-length: 100000000\r\n\r\n"
        )
        raw.sendall(head.encode() + b"no tar at all" * 50_000)
        assert raw.recv(1000).startswith(b"HTTP/1.1 400 ")


@pytest.mark.clause("files-links-and-entries")
def test_links_over_the_wire(api: httpx.Client, work: Path) -> None:
    (work / "d").mkdir()
    (work / "to-d").symlink_to("d")
    (work / "dangling").symlink_to("nowhere")
    found = {e["name"]: e for e in api.get("/v1/fs/entries", params={"path": str(work)}).json()}
    assert [(n, found[n]["entryType"], found[n]["symlink"]) for n in sorted(found)] == [
        ("d", "directory", False),
        ("dangling", "file", True),
        ("to-d", "file", True),
    ]
    for name in ("to-d", "dangling"):
        assert api.delete("/v1/fs/entry", params={"path": f"{work}/{name}"}).status_code == 200
    assert os.listdir(work) == ["d"]
