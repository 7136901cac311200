"""Permission and question cards: by mouse and by key, in several tabs, with other clients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.inspector_page import InspectorPage
from tests.support.server_process import ServerProcess

Open = Callable[..., InspectorPage]


@pytest.mark.clause("decision-35-in-the-inspector", "inspector-cards")
@pytest.mark.parametrize(("option", "state"), [("Allow once", "answered"), ("Reject", "rejected")])
def test_a_permission_is_answered_by_clicking(inspector: InspectorPage, option: str, state: str) -> None:
    inspector.create_session()
    inspector.say("permission")
    inspector.card("pending").get_by_role("button", name=option, exact=False).first.click()
    expect(inspector.card(state)).to_contain_text(option)
    inspector.wait_for_turns(1)
    assert inspector.server.acp.list()[-1]["pendingRequests"] == 0


@pytest.mark.clause("inspector-06", "inspector-cards")
def test_what_a_permission_is_for_is_shown_once(inspector: InspectorPage) -> None:
    inspector.create_session()
    inspector.say("permission")
    expect(inspector.card("pending").locator(".diff-line.added")).to_be_visible()
    changes = inspector.conversation.locator(".diff")
    expect(changes).to_have_count(1)
    # In the title, and in the head of the change.
    expect(inspector.card("pending").get_by_text("notes.txt")).to_have_count(2)
    inspector.card("pending").get_by_role("button", name="Allow once").click()
    # Now the tool's card shows it; that of the permission shows it again on request.
    inspector.wait_for_turns(1)
    expect(inspector.conversation.locator(".tool .diff-line.added")).to_be_visible()
    expect(changes).to_have_count(1)
    inspector.card("answered").get_by_role("button", name="What was asked for").click()
    expect(inspector.card("answered").locator(".diff-line.added")).to_be_visible()


@pytest.mark.clause("inspector-cards")
def test_a_plan_is_asked_for_once_and_as_markdown(inspector: InspectorPage) -> None:
    inspector.create_session()
    inspector.say("plan approval")
    card = inspector.card("pending")
    expect(card.locator(".md-item")).to_have_count(3)
    expect(card.get_by_text("Allow: Ready to code?", exact=True)).to_be_visible()
    expect(card.get_by_text("Input", exact=True)).to_have_count(0)


@pytest.mark.clause("inspector-cards")
def test_a_permission_is_answered_by_keys_alone(inspector: InspectorPage) -> None:
    inspector.create_session()
    inspector.say("permission")
    card = inspector.card("pending")
    expect(card).to_be_focused()
    inspector.page.keyboard.press("2")
    expect(card.get_by_role("button", name="Allow always")).to_be_focused()
    inspector.page.keyboard.press("Enter")
    expect(inspector.card("answered")).to_contain_text("Allow always")
    inspector.wait_for_turns(1)


@pytest.mark.clause("events-page-answers")
def test_answers_say_in_their_meta_what_they_mean(inspector: InspectorPage) -> None:
    """The SDK writes the same; the ids are those of the universal events."""
    sent: list[Any] = []
    inspector.page.on("request", lambda request: sent.append(request.post_data_json))
    inspector.create_session()
    inspector.say("permission")
    inspector.card("pending").get_by_role("button", name="Allow always").click()
    inspector.wait_for_turns(1)
    inspector.say("question")
    inspector.card("pending").locator("[data-option]").first.click()
    inspector.wait_for_turns(2)
    results = [message["result"] for message in sent if isinstance(message, dict) and "result" in message]
    allowed, answered = [result["_meta"]["sandboxagent.dev"] for result in results]
    assert allowed == {
        "permission": {"permissionId": "perm_1", "optionId": "allow-always", "status": "accept_for_session"}
    }
    question_id = answered["question"].pop("questionId")
    assert answered == {
        "outcome": "answered",
        "answers": [["option-a"]],
        "question": {"response": "option-a", "status": "answered"},
    }
    assert question_id


@pytest.mark.clause("inspector-cards")
def test_escape_rejects(inspector: InspectorPage) -> None:
    inspector.create_session()
    inspector.say("question")
    expect(inspector.card("pending")).to_be_focused()
    inspector.page.keyboard.press("Escape")
    expect(inspector.card("rejected")).to_be_visible()
    inspector.wait_for_turns(1)
    expect(inspector.conversation).to_contain_text("reject")


@pytest.mark.clause("decision-34-in-the-inspector")
def test_a_question_is_answered_with_the_value_of_the_label(inspector: InspectorPage) -> None:
    inspector.create_session()
    inspector.say("question")
    card = inspector.card("pending")
    expect(card.get_by_role("group")).to_be_visible()
    option = card.locator("[data-option]").first
    label = option.inner_text().split()[-1]
    option.click()
    expect(inspector.card("answered")).to_contain_text(label)
    inspector.wait_for_turns(1)


@pytest.mark.clause("inspector-cards")
def test_several_answers_are_ticked_by_key_and_sent_with_enter(inspector: InspectorPage) -> None:
    inspector.create_session()
    inspector.say("question multi")
    card = inspector.card("pending")
    expect(card.get_by_role("checkbox").first).to_be_visible()
    inspector.page.keyboard.press("1")
    inspector.page.keyboard.press("2")
    expect(card.get_by_role("checkbox").nth(1)).to_be_checked()
    inspector.page.keyboard.press("Enter")
    expect(inspector.card("answered")).to_be_visible()
    inspector.wait_for_turns(1)


@pytest.mark.clause("inspector-cards")
def test_a_free_answer_is_typed(inspector: InspectorPage) -> None:
    inspector.create_session()
    inspector.say("question free")
    inspector.card("pending").get_by_role("textbox").fill("my own words")
    inspector.page.keyboard.press("Enter")
    expect(inspector.card("answered")).to_contain_text("my own words")
    inspector.wait_for_turns(1)
    expect(inspector.conversation.locator(".message.assistant").last).to_contain_text("my own words")


@pytest.mark.clause("decision-34-in-the-inspector", "inspector-cards")
def test_a_form_is_filled_in(inspector: InspectorPage) -> None:
    inspector.create_session()
    inspector.say("elicit")
    card = inspector.card("pending")
    card.get_by_role("button", name="Green").click()
    card.get_by_role("checkbox", name="Olives").check()
    card.get_by_role("button", name="Yes").click()
    card.get_by_role("spinbutton").fill("3")
    card.get_by_role("textbox").fill("Ada")
    card.get_by_role("button", name="Send answer").click()
    expect(inspector.card("answered")).to_contain_text("green")
    inspector.wait_for_turns(1)
    expect(inspector.conversation.locator(".message.assistant").last).to_contain_text("Ada")


@pytest.mark.clause("inspector-cards")
def test_a_question_survives_a_reload(inspector: InspectorPage) -> None:
    inspector.create_session()
    inspector.say("question")
    expect(inspector.card("pending")).to_be_visible()
    inspector.page.reload()
    inspector.card("pending").locator("[data-option]").first.click()
    expect(inspector.card("answered")).to_be_visible()
    inspector.wait_for_turns(1)
    inspector.page.reload()
    expect(inspector.card("answered")).to_be_visible()


@pytest.mark.clause("inspector-tabs-and-others")
def test_an_answer_in_one_tab_is_seen_in_the_other(
    inspector: InspectorPage, server: ServerProcess, open_page: Open
) -> None:
    session_id = inspector.create_session()
    inspector.say("permission")
    other = open_page(server, f"/ui/sessions/{session_id}")
    expect(other.card("pending")).to_be_visible()
    inspector.card("pending").get_by_role("button", name="Allow once").click()
    expect(other.card("answered")).to_contain_text("Allow once")
    other.wait_for_turns(1)
    inspector.wait_for_turns(1)


@pytest.mark.clause("inspector-tabs-and-others")
def test_a_card_shows_the_answer_of_another_client(inspector: InspectorPage) -> None:
    inspector.create_session()
    inspector.say("permission")
    expect(inspector.card("pending")).to_be_visible()
    acp = inspector.server.acp
    with acp.stream(inspector.server_id) as stream:
        request = stream.until(lambda event: event.json().get("method") == "session/request_permission")[-1]
    outcome = {"outcome": "selected", "optionId": request.json()["params"]["options"][0]["optionId"]}
    reply = {"jsonrpc": "2.0", "id": request.json()["id"], "result": {"outcome": outcome}}
    assert acp.post(inspector.server_id, reply).status == 202
    expect(inspector.card("answered")).to_be_visible()
    inspector.wait_for_turns(1)
    expect(inspector.card("answered").locator("[data-option], .request-actions button")).to_have_count(0)


@pytest.mark.clause("inspector-tabs-and-others")
def test_a_card_of_a_process_that_died_is_stale(inspector: InspectorPage) -> None:
    inspector.create_session()
    inspector.say("question")
    expect(inspector.card("pending")).to_be_visible()
    inspector.server.acp.delete(inspector.server_id)
    expect(inspector.page.get_by_role("button", name="Resume")).to_be_visible()
    expect(inspector.conversation.locator("[data-option]:enabled")).to_have_count(0)


def test_the_side_bar_counts_what_waits(inspector: InspectorPage) -> None:
    inspector.create_session()
    inspector.say("question")
    expect(inspector.page.get_by_label("1 waiting")).to_be_visible()
    inspector.card("pending").locator("[data-option]").first.click()
    expect(inspector.page.get_by_label("1 waiting")).to_have_count(0)


@pytest.mark.clause("inspector-08", "inspector-09")
def test_a_form_shows_what_is_chosen_counts_its_keys_and_keeps_to_its_schema(
    inspector: InspectorPage,
) -> None:
    page = inspector.page
    inspector.create_session()
    inspector.say("elicit")
    card = inspector.card("pending")
    expect(card).to_be_focused()
    keys = card.locator("kbd").all_inner_texts()
    assert keys == [str(n) for n in range(1, len(keys) + 1)]
    green = card.get_by_role("button", name="Green")
    before = green.evaluate("element => getComputedStyle(element).backgroundColor")
    colours = card.get_by_role("group").filter(has=green)
    card.get_by_role("checkbox").last.focus()
    page.keyboard.press(card.locator("label.check kbd").first.inner_text())
    expect(card.get_by_role("checkbox").first).to_be_checked()
    expect(colours.locator("[aria-pressed=true]")).to_have_count(0)
    page.keyboard.press(green.locator("kbd").inner_text())
    expect(green).to_have_attribute("aria-pressed", "true")
    page.mouse.move(0, 0)
    assert green.evaluate("element => getComputedStyle(element).backgroundColor") != before
    card.get_by_role("spinbutton").fill("99")
    expect(card).to_contain_text("At most 9")
    card.get_by_role("button", name="Send answer").click()
    expect(card.get_by_role("spinbutton")).to_be_focused()
    assert inspector.server.acp.list()[-1]["pendingRequests"] == 1
    card.get_by_role("spinbutton").fill("9")
    expect(card).not_to_contain_text("At most 9")


@pytest.mark.clause("inspector-10")
def test_a_free_question_takes_the_keyboard_and_gives_it_back_to_the_prompt(inspector: InspectorPage) -> None:
    inspector.create_session()
    inspector.say("question free")
    field = inspector.card("pending").get_by_role("textbox")
    expect(field).to_be_focused()
    expect(inspector.card("pending").locator(".keys")).to_have_text("Enter to send · Esc to reject")
    inspector.page.keyboard.type("typed at once")
    inspector.page.keyboard.press("Enter")
    expect(inspector.card("answered")).to_contain_text("typed at once")
    expect(inspector.composer).to_be_focused()


@pytest.mark.clause("inspector-11", "inspector-12")
def test_a_card_out_of_sight_is_told_and_escape_can_be_taken_back(inspector: InspectorPage) -> None:
    page = inspector.page
    inspector.create_session()
    inspector.say_and_wait("stream 400")
    inspector.say("permission")
    card = inspector.card("pending")
    expect(card).to_be_visible()
    waits = page.get_by_role("button", name="The agent waits for your answer")
    expect(waits).to_have_count(0)
    # Only the head of the card stays in sight.
    height = card.evaluate("element => element.offsetHeight")
    inspector.conversation.evaluate(
        "(element, by) => element.scrollTo(0, element.scrollTop - by)", height - 20
    )
    waits.click()
    expect(card.get_by_role("button", name="Reject")).to_be_in_viewport()
    page.keyboard.press("Escape")
    expect(card).to_contain_text("Rejecting in 3 seconds")
    card.get_by_role("button", name="Undo").click()
    expect(card).not_to_contain_text("Rejecting")
    card.get_by_role("button", name="Allow once").click()
    inspector.wait_for_turns(2)
    expect(inspector.card("rejected")).to_have_count(0)
