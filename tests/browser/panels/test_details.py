"""What a conversation shows of agents with odd content: the played agent sends exactly what a test writes."""

from __future__ import annotations

import base64
import re
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.axe import serious_findings
from tests.browser.inspector_page import InspectorPage

OPTIONS = [
    {"optionId": "yes", "name": "Allow once", "kind": "allow_once"},
    {"optionId": "no", "name": "Reject", "kind": "reject_once"},
]
SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="30">'
    '<rect width="40" height="30" fill="teal"/></svg>'
)


def permission(**tool_call: Any) -> dict[str, Any]:
    params = {"toolCall": {"toolCallId": "t1", **tool_call}, "options": OPTIONS}
    return {"ask": {"method": "session/request_permission", "params": params}}


def update(update_kind: str, **fields: Any) -> dict[str, Any]:
    return {"update": {"sessionUpdate": update_kind, **fields}}


def text(words: str) -> dict[str, Any]:
    return {"type": "content", "content": {"type": "text", "text": words}}


@pytest.mark.clause("inspector-06")
def test_a_permission_shows_the_change_the_command_and_the_places_that_it_asks_for(
    inspector: InspectorPage,
) -> None:
    inspector.create_session("Played Agent")
    old = "".join(f"line {n}\n" for n in range(1, 30))
    diff = {
        "type": "diff",
        "path": "/srv/app.py",
        "oldText": old,
        "newText": old.replace("line 9", "line nine"),
    }
    inspector.play(
        "consent",
        permission(title="Edit app.py", content=[diff], locations=[{"path": "/srv/app.py", "line": 9}]),
        permission(title="Run", kind="execute", rawInput={"command": "cd /srv\nrm -r build", "cwd": "/srv"}),
        permission(title="Only a title"),
    )
    card = inspector.card("pending")
    expect(card.locator(".diff-line.added")).to_contain_text("line nine")
    expect(card.locator(".diff-line.removed")).to_contain_text("line 9")
    expect(card.get_by_role("button", name="/srv/app.py:9")).to_be_visible()
    assert serious_findings(inspector) == []
    card.get_by_role("button", name="Allow once").click()
    expect(card.locator("pre").first).to_have_text("cd /srv\nrm -r build")
    expect(card).to_contain_text("in /srv")
    card.get_by_role("button", name="Allow once").click()
    expect(card).to_contain_text("Only a title")
    card.get_by_role("button", name="Reject").first.click()
    inspector.wait_for_turns(1)
    expect(inspector.card("answered").first.locator(".diff-line.added")).to_contain_text("line nine")


@pytest.mark.clause("inspector-21")
def test_code_has_colours_and_a_diff_has_line_numbers_and_marked_words(inspector: InspectorPage) -> None:
    inspector.create_session("Played Agent")
    old = "".join(f"value_{n} = {n}\n" for n in range(1, 700))
    new = re.sub(r"^value_(\d*[05]) = ", r"renamed_\1 = ", old, flags=re.MULTILINE)
    diff = {"type": "diff", "path": "/srv/values.py", "oldText": old, "newText": new}
    code = '```python\nimport os\nprint("words")\n```\n'
    inspector.play(
        "colours",
        update("agent_message_chunk", content={"type": "text", "text": code}),
        update("tool_call", toolCallId="t1", title="Edit", kind="edit", status="completed", content=[diff]),
    )
    inspector.wait_for_turns(1)
    conversation = inspector.conversation
    expect(conversation.locator(".md-code .hljs-keyword")).to_have_text("import")
    added = conversation.locator(".diff-line.added")
    expect(added.first.locator(".diff-number").nth(1)).to_have_text("5")
    expect(added.nth(1).locator("mark").first).to_have_text(re.compile("renamed"))
    shown = conversation.locator(".diff-line").count()
    conversation.get_by_role("button", name=re.compile("^Show 400 more")).click()
    expect(conversation.locator(".diff-line")).to_have_count(shown + 400)


@pytest.mark.clause("inspector-22", "inspector-25", "inspector-29")
def test_output_is_a_terminal_calls_are_nested_and_paths_lead_to_the_file(inspector: InspectorPage) -> None:
    page = inspector.page
    inspector.create_session("Played Agent")
    notes = inspector.server.home / "found.txt"
    notes.write_text("what the path leads to")
    output = "".join(f"line {n}\n" for n in range(1, 100))
    output += "\x1b[31mred\x1b[0m\nDownloading 10%\rDownloading 55%\rDownloading 100%\nthe last line\n"
    claude = {"_meta": {"claudeCode": {"parentToolUseId": "t1"}}}
    inspector.play(
        "output",
        update("tool_call", toolCallId="t1", title="Sub-agent", kind="other", status="in_progress"),
        update("tool_call", toolCallId="t2", title="make", kind="execute", content=[text(output)], **claude),
        update("tool_call", toolCallId="t3", title="Read", locations=[{"path": str(notes)}], **claude),
        update("agent_thought_chunk", content={"type": "text", "text": "I am **sure** of it."}),
    )
    inspector.wait_for_turns(1)
    conversation = inspector.conversation
    assert [tool.get_attribute("data-depth") for tool in conversation.locator(".tool").all()] == [
        "0",
        "1",
        "1",
    ]
    expect(conversation.locator(".thought strong")).to_have_text("sure")
    terminal = conversation.get_by_label("Terminal output")
    expect(terminal).to_contain_text("\nDownloading 100%\n")
    expect(terminal.locator(".ansi-fg-1")).to_have_text("red")
    assert terminal.evaluate("box => box.scrollHeight - box.clientHeight - box.scrollTop") < 2
    conversation.get_by_role("button", name="Copy output").click()
    assert page.evaluate("navigator.clipboard.readText()").endswith("\nthe last line\n")
    small = terminal.bounding_box()
    conversation.get_by_role("button", name="Enlarge").click()
    large = terminal.bounding_box()
    assert small and large and large["height"] > small["height"] + 100
    conversation.get_by_role("button", name=str(notes)).click()
    expect(page.get_by_label("File content")).to_have_value("what the path leads to")


@pytest.mark.clause("inspector-23")
def test_pictures_come_as_svg_and_by_address_and_are_enlarged(inspector: InspectorPage) -> None:
    page = inspector.page
    inspector.create_session("Played Agent")
    (inspector.server.home / "drawn.svg").write_text(SVG)
    unsafe = SVG.replace("<rect", "<script>document.title = 'hacked'</script><rect")
    data = base64.b64encode(unsafe.encode()).decode()
    inspector.play(
        "pictures",
        update("agent_message_chunk", content={"type": "image", "mimeType": "image/svg+xml", "data": data}),
        update(
            "agent_message_chunk",
            content={
                "type": "image",
                "uri": f"file://{inspector.server.home}/drawn.svg",
                "mimeType": "",
                "data": "",
            },
        ),
    )
    inspector.wait_for_turns(1)
    pictures = inspector.conversation.locator("img.picture")
    expect(pictures).to_have_count(2)
    for picture in pictures.all():
        assert picture.evaluate("image => image.decode().then(() => image.naturalWidth)") == 40
    pictures.last.click()
    expect(page.get_by_role("dialog", name="drawn.svg").locator("img")).to_be_visible()
    page.keyboard.press("Escape")
    assert "hacked" not in page.title()


@pytest.mark.clause("inspector-04", "inspector-19", "inspector-20")
def test_a_long_block_of_code_is_copied_whole_and_the_prompt_stays_as_it_was_typed(
    inspector: InspectorPage,
) -> None:
    inspector.create_session()
    lines = "\n".join(f"line_{n}" for n in range(100))
    inspector.say_and_wait(f"echo a*b*c ***both*** 2*3\n```\n{lines}\n```")
    expect(inspector.conversation.locator(".message.user .verbatim").first).to_contain_text(
        "a*b*c ***both***"
    )
    inspector.conversation.evaluate("element => element.scrollTo(0, 0)")
    expect(inspector.conversation.locator(".message.assistant strong")).to_have_text("both")
    inspector.conversation.locator(".message.assistant").get_by_role("button", name="Copy code").first.click()
    assert inspector.page.evaluate("navigator.clipboard.readText()").strip() == lines
