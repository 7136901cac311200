"""Many sessions of one browser: processes started over HTTP, and records put into the browser's storage."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future

from playwright.sync_api import expect

from tests.browser.inspector_page import InspectorPage
from tests.browser.other_client import prompt_elsewhere, start_elsewhere
from tests.support.server_process import ServerProcess

START_LIMIT_S = 90

# Opening the storage before the page has made it would make an empty one.
HAS_STORAGE = """() => indexedDB.databases()
    .then(all => all.some(one => one.name === "sandbox-agent-inspector"))"""

PUT_RECORDS = """records => new Promise((resolve, reject) => {
    const opening = indexedDB.open("sandbox-agent-inspector");
    opening.onerror = () => reject(opening.error);
    opening.onsuccess = () => {
        const writing = opening.result.transaction("sessions", "readwrite");
        for (const record of records) writing.objectStore("sessions").put(record);
        writing.oncomplete = () => { opening.result.close(); resolve(); };
    };
})"""


class ManySessions:
    """Instances with a session each, by server id."""

    def __init__(self, server: ServerProcess, count: int) -> None:
        self.server = server
        ids = [f"many-{number}" for number in range(count)]
        started = [server.acp.in_background(start_elsewhere, server, server_id) for server_id in ids]
        opened = [future.result(START_LIMIT_S) for future in started]
        self.agent_sessions = dict(zip(ids, opened, strict=True))

    def put_into(self, inspector: InspectorPage) -> None:
        """Make them sessions of the browser, and load the page again."""
        origin = inspector.page.evaluate("location.origin")
        created = {entry["serverId"]: entry["createdAtMs"] for entry in self.server.acp.list()}
        records = [
            {
                "id": f"{number:08}-0000",
                "origin": origin,
                "agent": "mock",
                "serverId": server_id,
                "agentSessionId": session_id,
                "title": server_id,
                "renamed": True,
                "cwd": str(self.server.home),
                "mcpServers": [],
                "createdAt": created[server_id],
                "lastActiveAt": created[server_id],
                "archived": False,
                "logs": [f"{origin}|{server_id}|{created[server_id]}"],
            }
            for number, (server_id, session_id) in enumerate(self.agent_sessions.items())
        ]
        inspector.page.wait_for_function(HAS_STORAGE)
        inspector.page.evaluate(PUT_RECORDS, records)
        inspector.page.reload()
        expect(inspector.page.locator("a[href^='/ui/sessions/']")).to_have_count(len(records))

    def prompt(self, text: str, server_ids: Sequence[str] = ()) -> list[Future[None]]:
        """Begin a turn in each of them, or in some."""
        return [
            self.server.acp.in_background(
                prompt_elsewhere, self.server, server_id, self.agent_sessions[server_id], text
            )
            for server_id in server_ids or self.agent_sessions
        ]

    def last_events(self) -> dict[str, int]:
        return {entry["serverId"]: entry["lastEventId"] for entry in self.server.acp.list()}
