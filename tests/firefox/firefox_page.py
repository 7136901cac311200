"""Page object of the inspector in Firefox: elements by role and name, input as a person gives it."""

from __future__ import annotations

import json
from typing import Any

from tests.firefox.webdriver import Firefox, WebDriverError
from tests.support.processes import wait_until

LIMIT_S = 30
KEYS = {"Enter": "\ue007", "Escape": "\ue00c", "Home": "\ue011", "Control": "\ue009", "Shift": "\ue008"}

Element = dict[str, Any]


class FirefoxPage:
    """A tab in a storage of its own."""

    def __init__(self, firefox: Firefox, origin: str) -> None:
        self.origin = origin
        self._firefox = firefox
        self._begun = len(firefox.events)
        self._user_context = firefox.command("browser.createUserContext")["userContext"]
        made = firefox.command("browsingContext.create", type="tab", userContext=self._user_context)
        self.context = str(made["context"])
        # Only the tab in front has the focus, which a terminal needs for its keys.
        firefox.command("browsingContext.activate", context=self.context)
        firefox.command(
            "browsingContext.setViewport",
            context=self.context,
            viewport={"width": 1440, "height": 900},
        )

    def close(self) -> None:
        self._firefox.command("browser.removeUserContext", userContext=self._user_context)

    def open(self, path: str = "/ui/") -> None:
        self._firefox.command(
            "browsingContext.navigate", context=self.context, url=self.origin + path, wait="complete"
        )

    def reload(self) -> None:
        self._firefox.command("browsingContext.reload", context=self.context, wait="complete")

    def evaluate(self, expression: str) -> Any:
        """The value of an expression that is JSON."""
        answer = self._firefox.command(
            "script.evaluate",
            expression=f"(async () => JSON.stringify(await ({expression})))()",
            target={"context": self.context},
            awaitPromise=True,
        )
        assert answer["type"] == "success", answer
        return json.loads(answer["result"]["value"]) if answer["result"]["type"] == "string" else None

    # Elements

    def find(self, role: str, name: str, inside: Element | None = None) -> Element:
        """The only element of this role and name, once it is there."""
        locator = {"type": "accessibility", "value": {"role": role, "name": name}}
        return self._locate(locator, f"{role} {name!r}", inside)

    def select(self, css: str, inside: Element | None = None) -> Element:
        return self._locate({"type": "css", "value": css}, css, inside)

    def click(self, element: Element) -> None:
        self._call("element => element.scrollIntoView({ block: 'nearest' })", element)
        origin = {"type": "element", "element": {"sharedId": element["sharedId"]}}
        self._perform(
            "pointer",
            {"type": "pointerMove", "x": 0, "y": 0, "origin": origin},
            {"type": "pointerDown", "button": 0},
            {"type": "pointerUp", "button": 0},
        )

    def write(self, element: Element, text: str) -> None:
        self.click(element)
        self.press(*text)

    def press(self, *keys: str) -> None:
        """Press keys one after the other; `Control+k` holds the first of them."""
        actions = []
        for key in keys:
            parts = [KEYS.get(part, part) for part in key.split("+")] if len(key) > 1 else [key]
            actions += [{"type": "keyDown", "value": part} for part in parts]
            actions += [{"type": "keyUp", "value": part} for part in reversed(parts)]
        self._perform("key", *actions)

    def text(self, element: Element) -> str:
        return str(self._call("element => element.innerText", element)["value"])

    def expect_text(self, css: str, text: str) -> None:
        """Wait until an element has this text somewhere."""
        wait_until(lambda: text in self.texts(css), LIMIT_S, f"{text!r} in {css}")

    def texts(self, css: str) -> str:
        return str(
            self.evaluate(f"[...document.querySelectorAll({css!r})].map(one => one.innerText).join('\\n')")
        )

    def count(self, css: str) -> int:
        return int(self.evaluate(f"document.querySelectorAll({css!r}).length"))

    # The inspector

    def create_session(self) -> None:
        self.click(self.find("button", "New"))
        dialog = self.find("dialog", "New session")
        self.click(self.select("input[type=radio][value=mock]", dialog))
        wait_until(
            lambda: self.evaluate("document.querySelector('dialog .directory-field input')?.value"),
            LIMIT_S,
            "a directory",
        )
        self.click(self.find("button", "Create session"))
        wait_until(lambda: self.count("dialog") == 0, LIMIT_S, "the end of the dialog")
        self.select("[aria-label=Prompt]")

    def say(self, text: str) -> None:
        self.write(self.select("[aria-label=Prompt]"), text)
        self.press("Enter")

    def wait_for_turns(self, count: int) -> None:
        turns = "document.querySelector('.conversation')?.dataset.turns"
        wait_until(lambda: self.evaluate(turns) == str(count), LIMIT_S, f"{count} turns")

    def violations(self) -> list[str]:
        """Script errors, a broken security policy, and calls to other hosts."""
        found = []
        self.evaluate("null")  # Events that came before are read with its answer.
        for event in self._firefox.events[self._begun :]:
            params = event.get("params", {})
            # A library asks whether `eval` works and does without it; Firefox tells every attempt.
            is_question = "blocked a JavaScript eval" in params.get("text", "")
            if event["method"] == "log.entryAdded" and params["level"] == "error" and not is_question:
                found.append(f"{params.get('type')}: {params['text']}")
            if event["method"] == "network.beforeRequestSent":
                url = params["request"]["url"]
                if not url.startswith((self.origin, "data:", "blob:", "about:")):
                    found.append(f"call to another host: {url}")
        return found

    def _locate(self, locator: dict[str, Any], what: str, inside: Element | None) -> Element:
        start = {} if inside is None else {"startNodes": [{"sharedId": inside["sharedId"]}]}

        def found() -> list[Element]:
            try:
                answer = self._firefox.command(
                    "browsingContext.locateNodes", context=self.context, locator=locator, **start
                )
            except WebDriverError:
                return []  # The page is being replaced.
            return list(answer["nodes"])

        nodes = wait_until(found, LIMIT_S, what)
        assert len(nodes) == 1, f"{len(nodes)} of {what}"
        return nodes[0]

    def _call(self, function: str, element: Element) -> dict[str, Any]:
        answer = self._firefox.command(
            "script.callFunction",
            functionDeclaration=function,
            arguments=[{"sharedId": element["sharedId"]}],
            target={"context": self.context},
            awaitPromise=False,
        )
        result: dict[str, Any] = answer["result"]
        return result

    def _perform(self, kind: str, *actions: dict[str, Any]) -> None:
        source = {"type": kind, "id": kind, "actions": list(actions)}
        self._firefox.command("input.performActions", context=self.context, actions=[source])
