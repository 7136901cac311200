"""The order of the pages: for the site (as a mkdocs hook) and for `llms.txt` (when run as a script).

A page that is not named here appears under "More".
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
    ],
    "Agents": ["agents", "native-adapters", "custom-agents", "mock-agent", "credentials"],
    "Run": ["daemon", "deploy", "security", "troubleshooting"],
    "Inside": ["architecture", "promises", "performance", "conformance", "soak", "clauses", "mutations"],
}


COMPANIONS = ("CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")
ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"


def sections() -> dict[str, list[str]]:
    """The pages there are, by section and in order."""
    pages = {path.stem for path in DOCS.glob("*.md")}
    named = {page for section in SECTIONS.values() for page in section}
    ordered = {**SECTIONS, "More": sorted(pages - named)}
    existing = {title: [page for page in order if page in pages] for title, order in ordered.items()}
    return {title: order for title, order in existing.items() if order}


def on_config(config: Any) -> Any:
    """Build the navigation from the pages there are."""
    config["nav"] = [{title: [f"{page}.md" for page in order]} for title, order in sections().items()]
    config["nav"].append({"Project": [f"project/{name}" for name in COMPANIONS]})
    return config


def on_files(files: Any, config: Any) -> Any:
    """Take the files of the repository's root that pages link to into the site."""
    from mkdocs.structure.files import File

    for name in COMPANIONS:
        files.append(File.generated(config, f"project/{name}", abs_src_path=str(ROOT / name)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Links between pages and those files, as they lie in the site."""
    if page.file.src_uri.startswith("project/"):
        return markdown.replace("](docs/", "](../")
    for name in COMPANIONS:
        markdown = markdown.replace(f"](../{name}", f"](project/{name}")
    return markdown


def index_for_language_models() -> str:
    """The text of `llms.txt`: every page with its title and the beginning of its first sentence."""
    lines = [
        "# sandbox-agent",
        "",
        "> One HTTP API for every coding agent: ACP agents on stdio, driven over HTTP.",
    ]
    for title, order in sections().items():
        lines += ["", f"## {title}", ""]
        lines += [_entry(DOCS / f"{page}.md") for page in order]
    lines += ["", "## Beside the pages", ""]
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
    return f"- [{title}](docs/{page.name}): {sentence}"


if __name__ == "__main__":
    (ROOT / "llms.txt").write_text(index_for_language_models(), encoding="utf-8")
