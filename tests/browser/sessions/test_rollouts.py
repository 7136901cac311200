"""`sandbox-agent rollouts serve`: the runs of an output directory, their replay, two of them side by side."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import BrowserContext, Page, expect

PROMPTS = {"right": "echo forty-two", "wrong": "echo seven", "broken": "crash 3", "tools": "tool"}
COMMAND = [sys.executable, "-m", "sandbox_agent", "rollouts"]


@pytest.fixture(scope="module")
def output(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four runs: one passes, one is graded with 0, one fails, one uses a tool."""
    place = tmp_path_factory.mktemp("rollouts")
    lines = (json.dumps({"id": name, "prompt": prompt}) for name, prompt in PROMPTS.items())
    (place / "tasks.jsonl").write_text("\n".join(lines))
    grade = "test {id} != wrong"
    words = ["tasks.jsonl", "--agent", "mock", "-o", "out", "-q", "--after", grade]
    environment = {**os.environ, "HOME": str(place), "XDG_DATA_HOME": str(place / "data")}
    done = subprocess.run(
        [*COMMAND, *words], cwd=place, env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 1, done.stderr
    return place / "out"


@pytest.fixture(scope="module")
def address(output: Path) -> Iterator[str]:
    serving = subprocess.Popen(
        [*COMMAND, "serve", str(output), "--port", "0"], stdout=subprocess.PIPE, text=True
    )
    assert serving.stdout is not None
    yield serving.stdout.readline().strip()
    serving.send_signal(signal.SIGINT)
    assert serving.wait(20) == 0
    serving.stdout.close()


@pytest.fixture
def page(context: BrowserContext, address: str) -> Iterator[Page]:
    page = context.new_page()
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    page.goto(address)
    yield page
    assert problems == []


@pytest.mark.clause("rollouts-page")
def test_table_shows_and_filters_the_runs(page: Page, output: Path) -> None:
    rows = page.get_by_role("table", name="Runs").get_by_role("rowgroup").get_by_role("row")
    expect(rows).to_have_count(4)
    expect(page.get_by_label("Figures")).to_contain_text("50.0 %")
    expect(page.get_by_label("Figures")).to_contain_text("2 of 4")
    page.get_by_label("Outcome").select_option("failed")
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("agent process exited")
    page.get_by_label("Outcome").select_option("")
    page.get_by_role("searchbox").fill("forty")
    expect(rows).to_have_count(1)
    page.get_by_role("searchbox").fill("")
    page.get_by_role("columnheader", name="Run").get_by_role("button").click()
    expect(rows.first).to_contain_text("broken")
    # A batch that still runs adds rows, and the page shows them without being loaded again.
    row = {"id": "late", "agent": "mock", "text": "later", "stop_reason": "end_turn", "seconds": 1.0}
    journal = output / "journal.jsonl"
    before = journal.read_bytes()
    journal.write_bytes(before + json.dumps(row).encode() + b"\n")
    try:
        expect(rows).to_have_count(5)
    finally:
        journal.write_bytes(before)


@pytest.mark.clause("rollouts-page")
def test_run_is_replayed_message_by_message(page: Page) -> None:
    page.get_by_role("button", name="tools", exact=True).click()
    conversation = page.get_by_role("region", name="Conversation")
    expect(conversation).to_contain_text("I have read README.md.")
    expect(page.get_by_text("Commands")).to_be_visible()
    position = page.get_by_label("Position")
    position.fill("0")
    expect(conversation).not_to_contain_text("I have read README.md.")
    page.get_by_label("Speed").select_option("16")
    page.get_by_role("button", name="Play").click()
    expect(conversation).to_contain_text("I have read README.md.")
    page.reload()
    expect(conversation).to_contain_text("I have read README.md.")
    page.get_by_role("button", name="All runs").click()
    page.get_by_role("button", name="broken", exact=True).click()
    expect(page.get_by_role("article")).to_contain_text("agent process exited")


@pytest.mark.clause("rollouts-page")
def test_two_runs_stand_side_by_side(page: Page) -> None:
    page.get_by_label("Compare right", exact=True).check()
    page.get_by_label("Compare wrong", exact=True).check()
    page.get_by_role("button", name="Compare", exact=True).click()
    runs = page.get_by_role("article")
    expect(runs).to_have_count(2)
    expect(runs.nth(0)).to_contain_text("forty-two")
    expect(runs.nth(1)).to_contain_text("seven")
    boxes = [runs.nth(number).bounding_box() for number in (0, 1)]
    assert boxes[0] and boxes[1] and boxes[0]["x"] + boxes[0]["width"] <= boxes[1]["x"] + 1


@pytest.mark.clause("rollouts-page")
def test_only_kept_files_are_given_out_and_only_to_this_page(address: str, output: Path) -> None:
    origin = address.removesuffix("/ui/rollouts.html")
    with httpx.Client(base_url=f"{origin}/v1") as client:
        rows = client.get("/rollouts")
        assert client.get("/rollouts", headers={"if-none-match": rows.headers["etag"]}).status_code == 304
        assert (
            "sandbox" in client.get("/rollouts/tools/files/messages.jsonl").headers["content-security-policy"]
        )
        assert client.get("/rollouts/tools/files/..%2F..%2Fjournal.jsonl").status_code == 404
        (output / "runs" / "tools" / "link").symlink_to("/etc/passwd")
        assert client.get("/rollouts/tools/files/link").status_code == 404
        assert client.get("/rollouts/none").status_code == 404
        assert client.delete("/rollouts/tools").status_code == 405
        assert client.get("/rollouts", headers={"host": "elsewhere.example"}).status_code == 421
        assert client.get("/rollouts", headers={"origin": "https://elsewhere.example"}).status_code == 403
    refused = subprocess.run(
        [*COMMAND, "serve", str(output), "--host", "0.0.0.0", "--port", "0"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert refused.returncode == 1 and "token" in refused.stderr
