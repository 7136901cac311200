"""Tasks from an object store, served by moto's S3 server."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pyarrow
import pytest
from pyarrow import parquet

from sandbox_agent.rollouts.task_source import count_tasks, read_tasks
from tests.support.polling import wait_until
from tests.support.server_process import free_port


@pytest.fixture
def object_store(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    program = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    server = subprocess.Popen(program, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for name, value in {
        "AWS_ACCESS_KEY_ID": "k",
        "AWS_SECRET_ACCESS_KEY": "s",
        "AWS_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)

    def answers() -> bool:
        try:
            return httpx.get(f"{address}/moto-api/").status_code == 200
        except httpx.HTTPError:
            return False

    try:
        wait_until(answers, 60, "moto answers")
        yield address
    finally:
        server.terminate()
        server.wait(10)


@pytest.mark.clause("rollouts-batch")
def test_tasks_are_read_from_s3(object_store: str) -> None:
    table = io.BytesIO()
    parquet.write_table(pyarrow.Table.from_pylist([{"id": "p", "prompt": "echo p"}]), table)
    with httpx.Client(base_url=object_store, headers={"authorization": "AWS k:s"}) as client:
        client.put("/bucket").raise_for_status()
        client.put("/bucket/tasks.jsonl", content=b'{"id": "j"}\n\n"text"\n').raise_for_status()
        client.put("/bucket/tasks.parquet", content=table.getvalue()).raise_for_status()
    place = object_store.removeprefix("http://")
    lines = f"s3://bucket/tasks.jsonl?endpoint_override={place}&scheme=http"
    assert list(read_tasks(lines)) == [("j", {"id": "j"}), ("1", "text")]
    rows = f"s3://bucket/tasks.parquet?endpoint_override={place}&scheme=http"
    assert list(read_tasks(rows)) == [("p", {"id": "p", "prompt": "echo p"})]
    assert (count_tasks(rows), count_tasks(lines)) == (1, None)


@pytest.mark.clause("rollouts-batch")
def test_tasks_are_counted_for_the_time_left(tmp_path: Path) -> None:
    (tmp_path / "tasks.jsonl").write_text('"one"\n\n"two"\n')
    assert count_tasks(tmp_path / "tasks.jsonl") == 2
    assert (count_tasks(["a", "b", "c"]), count_tasks(iter("abc"))) == (3, None)
