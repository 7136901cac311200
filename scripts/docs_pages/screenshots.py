"""Take pictures of the page in Chromium, with its own server and the mock agent.

Those of docs/inspector.md, or, if a folder is named, every view in light and dark, on a desk and on a phone.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page, expect, sync_playwright

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.browser.inspector_page import InspectorPage  # noqa: E402 - found after the line above
from tests.support.server_process import ServerProcess  # noqa: E402

WIDE = {"width": 1360, "height": 850}
NARROW = {"width": 390, "height": 780}
DESKTOP = {"width": 1920, "height": 1000}
SIZES = {"1360": WIDE, "1920": DESKTOP, "390": NARROW}

TakePicture = Callable[[str], None]


def session_pictures(inspector: InspectorPage, take: TakePicture) -> None:
    page = inspector.page
    expect(page.get_by_role("button", name="Mock")).to_be_visible()
    expect(page.get_by_role("tabpanel", name="Files").get_by_text("project", exact=True)).to_be_visible()
    take("start")
    page.get_by_role("button", name="Mock").click()
    expect(page.get_by_label("Model")).to_be_visible()
    expect(page.get_by_role("dialog").get_by_label("Directory")).not_to_have_value("")
    take("new-session")
    page.get_by_role("button", name="Create session").click()
    inspector.say("demo")
    expect(inspector.card("pending")).to_be_visible()
    # Diffs and panels are loaded when they are first shown.
    expect(inspector.conversation.locator(".diff-line.added").first).to_be_visible()
    take("permission")
    inspector.card("pending").get_by_role("button", name="Allow once").click()
    expect(inspector.card("pending").locator("[data-option]").first).to_be_visible()
    page.get_by_role("button", name="Universal").click()
    expect(page.get_by_role("region", name="Universal events")).to_be_visible()
    # Now the card of the tool shows the change.
    written = inspector.conversation.locator(".tool").filter(has_text="Write notes.txt")
    expect(written.locator(".diff-line.added")).to_be_visible()
    take("question")
    inspector.card("pending").locator("[data-option]").first.click()
    inspector.wait_for_turns(1)
    expect(inspector.panel("Timeline").locator(".waterfall")).to_be_visible()
    take("timeline")
    page.emulate_media(color_scheme="dark")
    inspector.conversation.evaluate("element => element.scrollTo(0, 0)")
    expect(inspector.conversation.locator(".message.user").first).to_be_visible()
    inspector.panel("Agents")
    expect(page.get_by_role("article", name="Mock")).to_be_visible()
    take("dark")


def panel_pictures(inspector: InspectorPage, take: TakePicture) -> None:
    page = inspector.page
    inspector.create_session()
    inspector.say_and_wait("diff")
    inspector.say("stderr 300")
    inspector.wait_for_turns(2)
    files = inspector.panel("Files")
    files.get_by_role("button", name="Unfold project").click()
    files.get_by_role("button", name="Unfold src").click()
    expect(files.get_by_role("button", name="parser.py", exact=True)).to_be_visible()
    take("files")
    page.set_viewport_size(DESKTOP)  # type: ignore[arg-type]  # as below
    page.keyboard.press("Control+k")
    expect(page.get_by_role("dialog", name="Go to").get_by_role("combobox")).to_be_focused()
    take("palette")
    page.keyboard.press("Escape")
    page.set_viewport_size(WIDE)  # type: ignore[arg-type]  # as below
    inspector.say("crash 3")
    expect(page.locator(".exit-notice")).to_contain_text("exit code 3")
    requests = inspector.panel("Requests")
    expect(requests.get_by_text("newest first")).to_be_visible()
    take("exited")
    page.set_viewport_size(NARROW)  # type: ignore[arg-type]  # a plain dict has the keys of ViewportSize
    expect(page.get_by_role("button", name="Panels", exact=True)).to_be_visible()
    take("narrow")


def take_variants(page: Page, folder: Path, name: str) -> None:
    """Take a view in every size and both colour schemes, and leave the page as it was."""
    size = page.viewport_size
    is_dark = page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
    for label, variant in SIZES.items():
        page.set_viewport_size(variant)  # type: ignore[arg-type]  # as above
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]  # one of two literals
            page.screenshot(path=folder / f"{name}-{label}-{scheme}.png", animations="disabled")
    page.set_viewport_size(size)  # type: ignore[arg-type]  # it has one
    page.emulate_media(color_scheme="dark" if is_dark else "light")


def main(folder: Path, *, variants: bool) -> None:
    executable = shutil.which("chromium")
    if executable is None:
        sys.exit("Chromium was not found; install the Debian package chromium")
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="demo-") as home, sync_playwright() as playwright:
        server = ServerProcess(Path(home), token=None).ready()
        source = server.home / "project" / "src"
        source.mkdir(parents=True)
        (source / "parser.py").write_text("def parse(text: str) -> list[str]:\n    return text.split()\n")
        (source.parent / "README.md").write_text("# Project\n")
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        try:
            for take_pictures in (session_pictures, panel_pictures):
                page: Page = browser.new_page(viewport=WIDE)  # type: ignore[arg-type]  # as above
                inspector = InspectorPage(page, server)
                page.goto(inspector.address())

                def take(name: str, page: Page = page) -> None:
                    if variants:
                        take_variants(page, folder, name)
                    else:
                        page.screenshot(path=folder / f"inspector-{name}.png", animations="disabled")

                take_pictures(inspector, take)
                page.close()
        finally:
            browser.close()
            server.stop()
            server.kill_leftovers()


if __name__ == "__main__":
    named = sys.argv[1:2]
    main(Path(named[0]) if named else ROOT / "docs" / "images", variants=bool(named))
