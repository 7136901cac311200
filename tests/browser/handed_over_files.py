"""Files that a user pastes into the page or drops on it."""

from __future__ import annotations

from playwright.sync_api import Locator

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
_DISPATCH = """(element, [kind, type, name, data]) => {
    const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
    const files = new DataTransfer();
    files.items.add(new File([bytes], name, { type }));
    const event = kind === "paste"
        ? new ClipboardEvent("paste", { clipboardData: files, bubbles: true, cancelable: true })
        : new DragEvent("drop", { dataTransfer: files, bubbles: true, cancelable: true });
    element.dispatchEvent(event);
}"""


def hand_over(element: Locator, how: str, media_type: str, name: str, data: str) -> None:
    """`how` is paste or drop; `data` is the file in base64."""
    element.evaluate(_DISPATCH, [how, media_type, name, data])
