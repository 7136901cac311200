"""The order of the pages: for the site (as a mkdocs hook) and for `llms.txt` (when run as a script).

A pattern stands for the pages that no earlier entry names; a page without a section appears under "More".
"""

from __future__ import annotations

import fnmatch
import re
from pathlib import Path
from typing import Any

SECTIONS = {
    "Start": ["index", "quickstart", "concepts", "cli", "examples", "migration"],
    "Use": [
        *("sdk", "sessions", "permissions-and-questions", "universal-events", "persistence", "observability"),
        *(
            "chat-ui",
            "clients",
            "many-clients",
            "clients",
            "http-api",
            "api-reference",
            "files",
            "changes",
            "processes",
            "mcp",
            "skills",
            "custom-tools",
            "inspector",
        ),
    ],
    "Agents": ["agents", "native-adapters", "custom-agents", "mock-agent", "credentials"],
    "Scale": ["rollouts", "clusters", "containers", "frameworks"],
    "Run": ["daemon", "deploy", "security", "troubleshooting"],
    "Inside": [
        "architecture",
        "promises",
        "performance",
        "conformance",
        "soak",
        "clauses",
        "mutations",
        "releasing",
    ],
    "Specification": ["decisions", "spec/*"],
    "Decision records": ["adr/index", "adr/*"],
}


COMPANIONS = ("CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")
ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"


def sections() -> dict[str, list[str]]:
    """The existing pages, by section and in order."""
    pages = sorted(path.relative_to(DOCS).with_suffix("").as_posix() for path in DOCS.rglob("*.md"))
    left = dict.fromkeys(pages)
    found: dict[str, list[str]] = {}
    for title, patterns in {**SECTIONS, "More": ["*"]}.items():
        for pattern in patterns:
            for page in fnmatch.filter(tuple(left), pattern):
                del left[page]
                found.setdefault(title, []).append(page)
    return found


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
    """Adjust links between pages and those files to the layout of the site."""
    if page.file.src_uri.startswith("project/"):
        return markdown.replace("](docs/", "](../")
    for name in COMPANIONS:
        markdown = markdown.replace(f"](../{name}", f"](project/{name}")
    return markdown


def index_for_language_models() -> str:
    """The text of `llms.txt`: the pages with their titles and first sentences."""
    lines = [
        "# sandbox-agent",
        "",
        "> One HTTP API for every coding agent: ACP agents on stdio, driven over HTTP.",
    ]
    for title, order in sections().items():
        lines += ["", f"## {title}", ""]
        # Pages of sub-folders are reached from decisions.md and adr/index.md.
        lines += [_entry(DOCS / f"{page}.md") for page in order if "/" not in page or page.endswith("/index")]
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
    return f"- [{title}]({page.relative_to(ROOT).as_posix()}): {sentence}"


if __name__ == "__main__":
    (ROOT / "llms.txt").write_text(index_for_language_models(), encoding="utf-8")
