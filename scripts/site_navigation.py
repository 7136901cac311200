"""The order of the pages, for the site (as a mkdocs hook) and for `llms.txt` (when run as a script).

A page of docs/ that is not listed here appears under "More".
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

SECTIONS = {
    "Start": ["index", "quickstart", "concepts", "cli", "examples", "migration"],
    "Use": [
        *("sdk", "sessions", "permissions-and-questions", "universal-events", "persistence", "observability"),
        *("chat-ui", "many-clients", "http-api", "files", "mcp", "skills", "custom-tools", "inspector"),
        "api-reference",
    ],
    "Agents": ["agents", "native-adapters", "custom-agents", "mock-agent", "credentials"],
    "Run": ["daemon", "deploy", "security", "troubleshooting"],
    "Inside": [
        *("architecture", "promises", "performance", "conformance", "soak", "mutations"),
        *("clauses", "decisions", "releasing"),
    ],
    "Decision records": ["adr/index", "adr/*"],
    "Specification": ["spec/*"],
}
COMPANIONS = ("CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")
ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"


def sections() -> dict[str, list[str]]:
    """The existing pages by section and in order; a pattern stands for the pages not listed before it."""
    listed: dict[str, list[str]] = {}
    seen: set[str] = set()
    for title, patterns in {**SECTIONS, "More": ["*"]}.items():
        found = [path for pattern in patterns for path in sorted(DOCS.glob(f"{pattern}.md"))]
        names = [path.relative_to(DOCS).with_suffix("").as_posix() for path in found]
        listed[title] = [name for name in dict.fromkeys(names) if name not in seen]
        seen.update(names)
    return {title: names for title, names in listed.items() if names}


def on_config(config: Any) -> Any:
    """Build the navigation from the existing pages."""
    config["nav"] = [{title: [f"{page}.md" for page in order]} for title, order in sections().items()]
    config["nav"].append({"Project": [f"project/{name}" for name in COMPANIONS]})
    return config


def on_files(files: Any, config: Any) -> Any:
    """Add the files of the repository's root that pages link to."""
    from mkdocs.structure.files import File

    for name in COMPANIONS:
        files.append(File.generated(config, f"project/{name}", abs_src_path=str(ROOT / name)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Rewrite links between pages and those files to their places in the site."""
    if page.file.src_uri.startswith("project/"):
        return markdown.replace("](docs/", "](../")
    for name in COMPANIONS:
        markdown = markdown.replace(f"](../{name}", f"](project/{name}")
    return markdown


def index_for_language_models() -> str:
    """The text of `llms.txt`: every page with its title and the start of its first sentence."""
    lines = [
        "# sandbox-agent",
        "",
        "> One HTTP API for every coding agent: ACP agents on stdio, driven over HTTP.",
    ]
    for title, order in sections().items():
        lines += ["", f"## {title}", ""]
        lines += [_entry(DOCS / f"{page}.md") for page in order]
    lines += ["", "## Other files", ""]
    lines += [
        "- [README](README.md): set-up and five minutes with curl",
        "- [OpenAPI](docs/openapi.json): every endpoint, parameter, body and error",
        "- [Examples](examples): programs that run with the mock agent",
    ]
    return "\n".join(lines) + "\n"


def _entry(page: Path) -> str:
    paragraphs = page.read_text(encoding="utf-8").split("\n\n")
    title = paragraphs[0].removeprefix("# ").strip()
    first = next((text for text in paragraphs[1:] if text[:1].isalpha() or text[:1] == "`"), "")
    words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", " ".join(first.split()))
    sentence = re.split(r"(?<=[.:])\s", words, maxsplit=1)[0].rstrip(".:")
    entry = f"- [{title}](docs/{page.relative_to(DOCS).as_posix()})"
    return f"{entry}: {sentence}" if sentence else entry


if __name__ == "__main__":
    (ROOT / "llms.txt").write_text(index_for_language_models(), encoding="utf-8")
