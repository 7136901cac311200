"""Writing prompts: queue, history, edit and retry, pasted and dropped files, files by name, search."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.handed_over_files import PNG, hand_over
from tests.browser.inspector_page import InspectorPage


# A red pixel.
@pytest.mark.clause("inspector-24")
def test_pasted_and_dropped_files_are_attached_and_pictures_are_sent_as_such(
    inspector: InspectorPage,
) -> None:
    page = inspector.page
    inspector.create_session("Played Agent")
    hand_over(inspector.composer, "paste", "image/png", "pasted.png", PNG)
    chips = page.locator(".chips")
    expect(chips).to_contain_text("pasted.png")
    hand_over(inspector.composer, "drop", "text/plain", "dropped.txt", "YQ==")
    expect(chips).to_contain_text("dropped.txt")
    inspector.say_and_wait("look")
    expect(inspector.conversation.locator(".message.assistant")).to_contain_text(
        "received text , image image/png, resource_link text/plain"
    )
    expect(inspector.conversation.locator(".message.user img.picture")).to_be_visible()
    hand_over(inspector.composer, "paste", "image/png", "unwanted.png", PNG)
    expect(chips).to_contain_text("unwanted.png")
    chips.get_by_role("button", name=re.compile("Remove")).click()
    expect(chips).to_have_count(0)


@pytest.mark.clause("inspector-26")
def test_prompts_are_queued_edited_recalled_and_sent_again(inspector: InspectorPage) -> None:
    page, keys, composer = inspector.page, inspector.page.keyboard, inspector.composer
    (inspector.server.home / "named.txt").write_text("named")
    inspector.create_session()
    inspector.say("hang")
    for text in ("echo first", "echo second", "echo third"):
        inspector.say(text)
    queue = page.get_by_role("region", name="Queued prompts")
    expect(queue.get_by_role("listitem")).to_have_count(3)
    queue.get_by_role("button", name="Remove queued prompt: echo second").click()
    queue.get_by_role("button", name="Edit queued prompt: echo third").click()
    expect(composer).to_have_value("echo third")
    expect(composer).to_be_focused()
    composer.fill("echo third, edited")
    keys.press("Enter")
    page.get_by_role("button", name="Stop").click()
    expect(queue).to_contain_text("held")
    queue.get_by_role("button", name="Send now").click()
    inspector.wait_for_turns(3)
    said = inspector.conversation.locator(".message.assistant")
    expect(said).to_have_text([re.compile("first"), re.compile("third, edited")])

    keys.press("ArrowUp")
    keys.press("ArrowUp")
    expect(composer).to_have_value("echo first")
    keys.press("ArrowDown")
    keys.press("ArrowDown")
    expect(composer).to_have_value("")
    prompt = inspector.conversation.locator(".message.user", has_text="echo first")
    prompt.hover()
    prompt.get_by_role("button", name="Copy prompt").click()
    assert page.evaluate("navigator.clipboard.readText()") == "echo first"
    prompt.get_by_role("button", name="Edit and send again").click()
    expect(composer).to_have_value("echo first")
    composer.fill("fail")
    keys.press("Enter")
    inspector.wait_for_turns(4)
    inspector.conversation.get_by_role("button", name="Retry").last.click()
    inspector.wait_for_turns(5)
    expect(inspector.conversation.locator(".message.user", has_text="fail")).to_have_count(2)

    composer.press_sequentially("read @nam")
    expect(page.get_by_role("option", name=re.compile("named.txt"))).to_be_visible()
    keys.press("Enter")
    expect(composer).to_have_value("read @named.txt ")
    expect(page.locator(".chips")).to_contain_text("named.txt")

    folder = inspector.server.home / "deep" / "deeper"
    folder.mkdir(parents=True)
    (folder / "far-away.txt").write_text("far")
    composer.fill("")
    composer.press_sequentially("read @far")
    expect(page.get_by_role("option", name="deep/deeper/far-away.txt")).to_be_visible()
    keys.press("Enter")
    expect(composer).to_have_value("read @deep/deeper/far-away.txt ")


@pytest.mark.clause("inspector-27", "inspector-28")
def test_a_prompt_sent_from_above_is_in_sight_and_the_whole_conversation_is_searched(
    inspector: InspectorPage,
) -> None:
    page = inspector.page
    inspector.create_session()
    inspector.say_and_wait("echo the needle is here")
    inspector.say("stream 3000")
    inspector.wait_for_turns(2)
    inspector.conversation.evaluate("element => element.scrollTo(0, 0)")
    inspector.say("echo its answer")
    answer = inspector.conversation.locator(".message.assistant", has_text="its answer")
    expect(answer).to_be_in_viewport()
    expect(inspector.conversation.locator(".message.user", has_text="its answer")).to_be_in_viewport()
    expect(inspector.conversation.get_by_text("the needle is here", exact=True)).to_have_count(0)
    page.keyboard.press("Control+f")
    search = page.get_by_role("searchbox", name=re.compile("conversation", re.IGNORECASE))
    expect(search).to_be_focused()
    page.keyboard.type("needle")
    expect(inspector.conversation.locator(".virtual-row.marked")).to_contain_text("the needle is here")
    expect(inspector.conversation.locator(".virtual-row.marked")).to_be_in_viewport()
