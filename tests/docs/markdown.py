"""Reads Markdown as far as the tests need it: code blocks with the word before them, headings, links.

A block is preceded by a comment when it cannot simply be run:
`<!-- not run: REASON -->` it is not, `<!-- with a server on 127.0.0.1:2468 -->` it gets one, on another port,
`<!-- continues -->` it goes on where the block before it ended.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SPECIFICATIONS = ROOT / "docs" / "spec"
"""Copied verbatim: their code blocks cannot be marked, and name interfaces that other documents changed."""
_FENCE = re.compile(r"^( *)(`{3,})([^`]*)$")
_COMMENT = re.compile(r"^<!--(.*?)-->\s*$")
_HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*$")
_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)(?:\s+\"[^\"]*\")?\)")


@dataclass(frozen=True)
class Block:
    file: Path
    line: int
    language: str
    text: str
    comment: str

    @property
    def name(self) -> str:
        return f"{self.file.relative_to(ROOT)}:{self.line}"

    @property
    def not_run(self) -> bool:
        return self.comment.startswith("not run:") and bool(self.comment.removeprefix("not run:").strip())

    @property
    def needs_server(self) -> bool:
        return self.comment.startswith("with a server")

    @property
    def continues(self) -> bool:
        return self.comment.startswith("continues")


def documents() -> list[Path]:
    """The README, its companions and every page."""
    return sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def blocks_of(file: Path) -> list[Block]:
    found: list[Block] = []
    fence: str | None = None
    start, language, indent, comment, last = 0, "", "", "", ""
    body: list[str] = []
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        match = _FENCE.match(line)
        if fence is None and match:
            indent, fence, language = match[1], match[2], match[3].strip().split(" ")[0]
            start, body, comment = number, [], last
        elif fence is not None and line.strip() == fence:
            found.append(Block(file, start, language, "\n".join(body) + "\n", comment))
            fence, last = None, ""
        elif fence is not None:
            body.append(line.removeprefix(indent))
        elif said := _COMMENT.match(line.strip()):
            last = said[1].strip()
        elif line.strip():
            last = ""
    assert fence is None, f"{file}: the block in line {start} has no end"
    return found


def _prose(file: Path) -> list[str]:
    """Lines outside code blocks, without inline code; a line with a link keeps all of its text."""
    return [line if "](" in line else re.sub(r"`[^`]*`", "", line) for line in _prose_with_code(file)]


def links_of(file: Path) -> list[str]:
    return [link for line in _prose(file) for link in _LINK.findall(line)]


def anchors_of(file: Path) -> set[str]:
    """The anchors that both GitHub and the site make of the headings."""
    anchors = set()
    for line in _prose_with_code(file):
        if heading := _HEADING.match(line):
            words = re.sub(r"[`*]|\[([^\]]*)\]\([^)]*\)", r"\1", heading[1]).lower()
            anchors.add(re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", words).strip()))
    return anchors


def _prose_with_code(file: Path) -> list[str]:
    lines, inside = [], False
    for line in file.read_text(encoding="utf-8").splitlines():
        if line.lstrip().startswith("```"):
            inside = not inside
        elif not inside:
            lines.append(line)
    return lines
