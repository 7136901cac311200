"""The OpenAPI document: complete, valid, committed as served; and the page that shows it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import httpx
import jsonschema_rs
import pytest

from sandbox_agent import errors
from sandbox_agent.http.endpoints.api_docs import document_bytes, documented_handlers, page_bytes
from sandbox_agent.http.openapi import document, problem_responses
from sandbox_agent.http.router import ROUTES, WEBSOCKET
from tests.http.endpoints.file_server import running

COMMITTED = Path(__file__).parents[3] / "docs" / "openapi.json"
DOCUMENT: dict[str, Any] = json.loads(document_bytes())


def operations() -> list[tuple[str, str, dict[str, Any]]]:
    return [(m, path, op) for path, methods in DOCUMENT["paths"].items() for m, op in methods.items()]


def validator(schema: dict[str, Any]) -> jsonschema_rs.Draft202012Validator:
    """With the components of the document in reach."""
    return jsonschema_rs.Draft202012Validator({**schema, "components": DOCUMENT["components"]})


@pytest.mark.clause("openapi-document")
def test_the_committed_document_is_the_served_one() -> None:
    """After a change: python -m sandbox_agent.http.openapi > docs/openapi.json"""
    assert COMMITTED.read_bytes() == document_bytes()


@pytest.mark.clause("openapi-document")
def test_the_server_serves_document_and_page_without_a_token(tmp_path: Path) -> None:
    with running(tmp_path) as (server, _), httpx.Client(base_url=f"http://127.0.0.1:{server.port}") as client:
        served = client.get("/openapi.json")
        assert served.headers["content-type"] == "application/json"
        assert served.content == document_bytes()
        page = client.get("/docs")
        assert page.headers["content-type"] == "text/html; charset=utf-8"
        assert page.content == page_bytes()


@pytest.mark.clause("openapi-document")
def test_every_route_is_described() -> None:
    described = {(method.upper(), path) for method, path, _ in operations() if method != "head"}
    routes = [route for route in ROUTES if not route.path.startswith("/ui") and route.method != WEBSOCKET]
    assert described == {(route.method, route.path) for route in routes}


def test_a_route_without_operation_and_an_operation_without_route_are_noticed() -> None:
    handlers = documented_handlers()
    with pytest.raises(LookupError, match="/v1/new"):
        document.build({**handlers, ("GET", "/v1/new"): operations}, "1")
    del handlers["GET", "/v1/health"]
    with pytest.raises(LookupError, match="getHealth"):
        document.build(handlers, "1")


def test_all_references_lead_somewhere_and_ids_are_unique() -> None:
    for reference in re.findall(r'"\$ref": "#/([^"]+)"', document_bytes().decode()):
        found: Any = DOCUMENT
        for part in reference.split("/"):
            found = found[part]
    ids = [op["operationId"] for _, _, op in operations()]
    assert len(ids) == len(set(ids))


@pytest.mark.clause("openapi-document")
def test_every_refusal_names_its_problem_type() -> None:
    for _, path, operation in operations():
        assert {"400", "500"} <= operation["responses"].keys()
        assert ("401" in operation["responses"]) == path.startswith(("/v1", "/acp"))
    for response in DOCUMENT["components"]["responses"].values():
        (content,) = response["content"].values()
        for example in content["examples"].values():
            assert example["value"]["type"] in response["description"]


def test_every_error_class_has_an_example_that_fits_its_schema() -> None:
    def leaves(kind: type[errors.SandboxAgentError]) -> list[type[errors.SandboxAgentError]]:
        below = [leaf for sub in kind.__subclasses__() for leaf in leaves(sub)]
        return below or [kind]

    # 405 belongs to a path, not to one of its operations.
    known = {*problem_responses.PROBLEM_EXAMPLES, errors.MethodNotAllowed}
    assert known == set(leaves(errors.SandboxAgentError))
    for kind in problem_responses.PROBLEM_EXAMPLES:
        schema = problem_responses.problem_schema(kind)
        validator(schema).validate(problem_responses.problem_example(kind))


@pytest.mark.clause("openapi-document")
def test_examples_fit_their_schemas() -> None:
    checked = 0
    for _, _, operation in operations():
        bodies = [operation.get("requestBody", {}), *operation["responses"].values()]
        for content in (content for body in bodies for content in body.get("content", {}).values()):
            examples = [example["value"] for example in content.get("examples", {}).values()]
            examples += [content["example"]] if "example" in content else []
            for example in examples:
                validator(content["schema"]).validate(example)
                checked += 1
    assert checked >= 25


def test_json_bodies_have_examples() -> None:
    for method, path, operation in operations():
        body = operation.get("requestBody", {}).get("content", {}).get("application/json")
        assert body is None or body.get("example") or body.get("examples"), (method, path)


class Loads(HTMLParser):
    """Everything a browser would fetch or run."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.anchors: set[str] = set()
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("script", "link", "img", "iframe", "object", "form"):
            self.found.append(tag)
        for name, value in attrs:
            if name == "id" and value:
                self.anchors.add(value)
            if name == "href" and value:
                self.links.append(value)
            elif name in ("src", "srcset", "action") or name.startswith("on"):
                self.found.append(f"{tag} {name}")


@pytest.mark.clause("openapi-document")
def test_the_page_needs_nothing_from_elsewhere() -> None:
    page = page_bytes().decode()
    loads = Loads()
    loads.feed(page)
    assert loads.found == []
    assert "url(" not in page
    assert "@import" not in page
    for link in loads.links:
        assert link == "openapi.json" or link.removeprefix("#") in loads.anchors
    for _, path, operation in operations():
        assert operation["operationId"] in loads.anchors
        assert path in page


def test_starting_the_server_imports_nothing_of_it() -> None:
    code = (
        "import sys, sandbox_agent.http.app as app; app.create_app(); "
        "print([name for name in sys.modules if 'openapi' in name or 'operations' in name "
        "or 'docs_page' in name or name in ('tarfile', 'ctypes', 'zstandard')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=True
    )
    assert done.stdout.strip() == "[]"
