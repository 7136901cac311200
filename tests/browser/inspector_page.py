"""Page object of the inspector: create a session, send prompts, answer requests, open panels."""

from __future__ import annotations

import json
import re
from typing import Any

from playwright.sync_api import ConsoleMessage, Locator, Page, Request, expect

from tests.support.server_process import ServerProcess

EXPECT_LIMIT_MS = 20_000
expect.set_options(timeout=EXPECT_LIMIT_MS)


class InspectorPage:
    """A tab. Collects violations: script errors, a broken security policy, calls to other hosts."""

    def __init__(self, page: Page, server: ServerProcess) -> None:
        self.page = page
        self.server = server
        self.violations: list[str] = []
        page.on("pageerror", lambda error: self.violations.append(f"script error: {error}"))
        page.on("console", self._console_message)
        page.on("request", self._check_request)

    def address(self, path: str = "/ui/") -> str:
        return f"http://127.0.0.1:{self.server.port}{path}"

    def _console_message(self, message: ConsoleMessage) -> None:
        # The browser logs every failed call as an error; the page shows them in its own way.
        if message.type == "error" and "Failed to load resource" not in message.text:
            self.violations.append(f"console: {message.text}")

    def _check_request(self, request: Request) -> None:
        here = self.address("/")
        if not request.url.startswith((here, "data:", "blob:")):
            self.violations.append(f"call to another host: {request.url}")
        if self.server.token and self.server.token in request.url and "/ui/" not in request.url:
            self.violations.append(f"token in an address: {request.url}")

    # Sessions

    def create_session(self, agent: str = "Mock") -> str:
        """Create a session with the dialog; returns its id in this browser."""
        page = self.page
        page.get_by_role("button", name="New", exact=True).click()
        dialog = page.get_by_role("dialog", name="New session")
        dialog.get_by_role("radio", name=re.compile(f"^{agent}")).check()
        expect(dialog.get_by_label("Directory")).not_to_have_value("")
        dialog.get_by_role("button", name="Create session").click()
        page.wait_for_url(re.compile(r"/ui/sessions/"))
        expect(dialog).to_have_count(0)
        expect(self.composer).to_be_visible()
        return page.url.rpartition("/")[2]

    @property
    def server_id(self) -> str:
        """The server instance of the only session that was created."""
        return str(self.server.acp.list()[-1]["serverId"])

    @property
    def composer(self) -> Locator:
        return self.page.get_by_label("Prompt", exact=True)

    def end_session(self) -> None:
        self.page.get_by_role("button", name="End", exact=True).click()
        self.page.get_by_role("button", name="End the process?").click()

    def say(self, text: str) -> None:
        self.composer.fill(text)
        self.composer.press("Enter")

    def say_and_wait(self, text: str) -> None:
        self.say(text)
        self.wait_for_turns(1)

    def wait_for_turns(self, count: int) -> None:
        """Wait until this many turns have ended; most of their rows may be out of view."""
        expect(self.conversation).to_have_attribute("data-turns", str(count))

    def play(self, name: str, *steps: dict[str, Any]) -> None:
        """Let the played agent do these steps; they are read from the directory of the session."""
        (self.server.home / f"{name}.json").write_text(json.dumps(steps))
        self.say(f"play {name}")

    @property
    def conversation(self) -> Locator:
        return self.page.get_by_role("region", name="Conversation")

    def card(self, state: str) -> Locator:
        return self.conversation.locator(f"form[data-state={state}]")

    # Panels

    def panel(self, name: str) -> Locator:
        self.page.get_by_role("tab", name=name, exact=True).click()
        return self.page.get_by_role("tabpanel", name=name)

    def stored_messages(self) -> list[dict[str, Any]]:
        """The messages that the page stored in IndexedDB."""
        script = """() => new Promise((resolve, reject) => {
            const opening = indexedDB.open("sandbox-agent-inspector");
            opening.onerror = () => reject(opening.error);
            opening.onsuccess = () => {
                const reading = opening.result.transaction("messages").objectStore("messages").getAll();
                reading.onsuccess = () => { opening.result.close(); resolve(reading.result); };
            };
        })"""
        messages: list[dict[str, Any]] = self.page.evaluate(script)
        return messages
