"""Writes the OpenAPI document as one HTML page that needs nothing else."""

from __future__ import annotations

import re
from html import escape
from typing import Any

import msgspec

_STYLE = """
:root { color-scheme: light dark; --line: #8884; --soft: #8882; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h2 { margin-top: 2.5rem; border-bottom: 1px solid var(--line); }
nav a { margin-right: 1rem; }
details { border: 1px solid var(--line); border-radius: .4rem; margin: .5rem 0; padding: .4rem .8rem; }
summary { cursor: pointer; }
code, pre { font: .9em ui-monospace, monospace; }
pre { background: var(--soft); padding: .6rem; overflow-x: auto; border-radius: .3rem; }
.method { display: inline-block; min-width: 4.5rem; font-weight: 700; }
table { border-collapse: collapse; width: 100%; }
td, th { text-align: left; vertical-align: top; padding: .25rem .6rem .25rem 0;
  border-top: 1px solid var(--line); }
h4 { margin: 1rem 0 .3rem; }
"""


def render(document: dict[str, Any]) -> str:
    """The whole page."""
    info = document["info"]
    navigation = "".join(f'<a href="#{tag["name"]}">{tag["name"]}</a>' for tag in document["tags"])
    groups = "".join(_group(document, tag) for tag in document["tags"])
    schemas = "".join(
        f'<details id="schema-{escape(name)}"><summary><code>{escape(name)}</code></summary>{_json(schema)}'
        "</details>"
        for name, schema in document["components"]["schemas"].items()
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(info['title'])} API</title><style>{_STYLE}</style></head><body>"
        f"<h1>{escape(info['title'])} <small>{escape(info['version'])}</small></h1>"
        f"<p>{escape(info['description'])}</p>"
        '<p>For tools: <a href="openapi.json">openapi.json</a> (OpenAPI 3.1). Send the token as '
        "<code>Authorization: Bearer …</code>.</p>"
        f'<nav>{navigation}<a href="#schemas">schemas</a></nav>{groups}'
        f'<h2 id="schemas">schemas</h2>{schemas}</body></html>'
    )


def _group(document: dict[str, Any], tag: dict[str, str]) -> str:
    operations = "".join(
        _operation(document, method, path, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
        if operation["tags"] == [tag["name"]]
    )
    return f'<h2 id="{tag["name"]}">{tag["name"]}</h2><p>{escape(tag["description"])}</p>{operations}'


def _operation(document: dict[str, Any], method: str, path: str, operation: dict[str, Any]) -> str:
    parts = [
        f'<details id="{escape(operation["operationId"])}"><summary>',
        f'<span class="method">{method.upper()}</span> <code>{escape(path)}</code> ',
        f"{escape(operation['summary'])}</summary>",
        f"<p>{_prose(operation.get('description', ''))}</p>",
    ]
    if operation.get("parameters"):
        rows = "".join(
            f"<tr><td><code>{escape(p['name'])}</code></td><td>{p['in']}"
            f"{', required' if p['required'] else ''}</td><td>{_prose(p['description'])}</td></tr>"
            for p in operation["parameters"]
        )
        parts.append(f"<h4>Parameters</h4><table>{rows}</table>")
    if "requestBody" in operation:
        parts.append(f"<h4>Body</h4>{_contents(operation['requestBody']['content'])}")
    parts.append("<h4>Responses</h4>")
    parts.extend(
        f"<p><b>{status}</b> {_answer(document, response)}</p>"
        for status, response in operation["responses"].items()
    )
    return "".join(parts) + "</details>"


def _answer(document: dict[str, Any], response: dict[str, Any]) -> str:
    reference = response.get("$ref")
    if reference is not None:
        shared: dict[str, Any] = document["components"]["responses"][reference.rpartition("/")[2]]
        return _prose(shared["description"])
    return f"{_prose(response['description'])}</p>{_contents(response.get('content', {}))}<p>"


def _contents(contents: dict[str, Any]) -> str:
    return "".join(
        f"<div><code>{escape(name)}</code>{_content(entry)}</div>" for name, entry in contents.items()
    )


def _content(entry: dict[str, Any]) -> str:
    examples = [value["value"] for value in entry.get("examples", {}).values()]
    if "example" in entry:
        examples.append(entry["example"])
    return _schema_links(entry["schema"]) + "".join(_json(example) for example in examples)


def _schema_links(schema: dict[str, Any]) -> str:
    names = re.findall(r'"#/components/schemas/([^"]+)"', msgspec.json.encode(schema).decode())
    return "".join(f' <a href="#schema-{escape(name)}">{escape(name)}</a>' for name in names)


def _json(value: Any) -> str:
    return f"<pre>{escape(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())}</pre>"


def _prose(text: str) -> str:
    """Backticks mark code; everything else is plain."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))
