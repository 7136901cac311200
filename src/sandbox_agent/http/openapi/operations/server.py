"""Descriptions of the endpoints about the server itself."""

from __future__ import annotations

from sandbox_agent.http.openapi.operations.operation import Answer, Content, Operation

_TEXT = {"type": "string"}

OPERATIONS = {
    ("GET", "/"): Operation(
        id="getRoot",
        tag="server",
        summary="Name of the server",
        open=True,
        answers={
            200: Answer(
                "A greeting",
                [
                    Content(
                        {
                            "type": "object",
                            "properties": {"docs": _TEXT, "name": _TEXT},
                            "required": ["docs", "name"],
                        },
                        {"docs": "/docs", "name": "Sandbox Agent"},
                    )
                ],
            )
        },
    ),
    ("GET", "/openapi.json"): Operation(
        id="getOpenApi",
        tag="server",
        summary="This document",
        open=True,
        answers={200: Answer("OpenAPI 3.1", [Content({"type": "object"})])},
    ),
    ("GET", "/docs"): Operation(
        id="getDocs",
        tag="server",
        summary="This document as a page",
        description="Self-contained: it loads nothing from anywhere else.",
        open=True,
        answers={200: Answer("A page for people", [Content(_TEXT, media_type="text/html")])},
    ),
    ("GET", "/v1/health"): Operation(
        id="getHealth",
        tag="server",
        summary="Is the server up",
        answers={
            200: Answer(
                "It is",
                [
                    Content(
                        {
                            "type": "object",
                            "properties": {"status": {"const": "ok"}},
                            "required": ["status"],
                        },
                        {"status": "ok"},
                    )
                ],
            )
        },
    ),
}
