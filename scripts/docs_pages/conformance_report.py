"""Run tests/conformance against this server and the reference, and write the results to docs/conformance.md.

The reference is the published binary, which npm installs into `.cache/reference`. Cases about a flag or file
that only this server has carry the mark `ours` and are not run against it. A topic is one test file.
"""

from __future__ import annotations

import ast
import fcntl
import json
import os
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from collections import defaultdict
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from scripts.docs_pages.defect_table import defect_section

ROOT = Path(__file__).resolve().parents[2]
SUITE = ROOT / "tests" / "conformance"
PAGE = ROOT / "docs" / "conformance.md"
PACKAGE = "@sandbox-agent/cli-linux-x64"
VERSION = "0.4.2"
SECONDS_PER_CASE = 10
RESULTS = ROOT / ".cache" / "conformance"

# file -> test name -> [passed, run]; contains only files and tests that were run
Results = dict[str, dict[str, list[int]]]


def reference_binary() -> Path:
    cache = ROOT / ".cache" / "reference"
    binary = cache / "node_modules" / PACKAGE / "bin" / "sandbox-agent"
    cache.mkdir(parents=True, exist_ok=True)
    with (cache.parent / "reference.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not binary.exists():
            npm = shutil.which("npm") or sys.exit("npm is needed to fetch the reference")
            options = ["--prefix", str(cache), "--no-audit", "--no-fund"]
            subprocess.run([npm, "install", *options, f"{PACKAGE}@{VERSION}"], check=True)  # noqa: S603 - npm
        binary.chmod(0o755)
    return binary


def run_topic(path: Path, side: str) -> dict[str, list[int]]:
    environment = {**os.environ}
    # Against the reference stands the server command; the application under uvicorn has the same cases again.
    selection = ["-k", "not uvicorn"]
    if side == "reference":
        environment["SANDBOX_AGENT_CONFORMANCE_COMMAND"] = str(reference_binary())
        selection = ["-m", "not ours"]
    with tempfile.TemporaryDirectory() as directory:
        report = Path(directory, "report.xml")
        environment["PYTEST_DEBUG_TEMPROOT"] = directory
        options = ["-q", "--tb=line", "-p", "no:cacheprovider", f"--timeout={SECONDS_PER_CASE}"]
        options += [f"--junit-xml={report}", "-o", "junit_family=xunit1", *selection]
        command = [sys.executable, "-m", "pytest", *options, str(path)]
        done = subprocess.run(  # noqa: S603 - pytest on our own suite
            command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
        )
        if not report.exists():
            sys.exit(
                f"{path.name}: pytest ended without a report:\n{done.stdout[-3000:]}{done.stderr[-3000:]}"
            )
        cases = list(ElementTree.parse(report).iter("testcase"))  # noqa: S314 - written by pytest
    results: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    failed: dict[str, bool] = {}
    for case in cases:
        bad = case.find("failure") is not None or case.find("error") is not None
        failed[case.attrib["name"]] = failed.get(case.attrib["name"], False) or bad
    for name, bad in failed.items():
        counts = results[name.partition("[")[0]]
        counts[0] += not bad
        counts[1] += 1
    passed, run = sum(c[0] for c in results.values()), sum(c[1] for c in results.values())
    print(f"{side:9} {path.stem:28} {passed} of {run}", flush=True)
    if passed < run:
        print("\n".join(line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))))
    return results


def run_side(side: str, wanted: list[str]) -> Results:
    topics = [path for path in sorted(SUITE.rglob("test_*.py")) if not wanted or path.stem in wanted]
    # Most cases of the reference hang until their limit, so several topics can run at the same time.
    with ThreadPoolExecutor(max_workers=6 if side == "reference" else 1) as workers:
        results = list(workers.map(lambda topic: run_topic(topic, side), topics))
    return {topic.stem: result for topic, result in zip(topics, results, strict=True)}


def score(results: dict[str, list[int]]) -> str:
    passed, run = sum(c[0] for c in results.values()), sum(c[1] for c in results.values())
    return f"{passed} of {run}" if run else "-"


def cell(counts: list[int] | None) -> str:
    if counts is None:
        return "-"
    passed, run = counts
    if passed == run:
        return "yes"
    return "no" if passed == 0 else f"{passed} of {run}"


HEAD = f"""# Conformance

What the server promises on the wire, tested from outside over plain sockets. The suite in
`tests/conformance/` needs a server command, or a URL, a token and a directory for a scripted agent, so it can
test any server with this API. The tables show which cases this server and the reference binary
(version {VERSION}) pass.

- The cases use a scripted agent. The results of [real agents](#real-agents) through this server follow them.
- A case may take {SECONDS_PER_CASE} seconds, a few cases longer. A case that hangs has failed.
- Where the two servers differ, this project has decided otherwise, or the reference has a fault that is not
  copied.
- `-` marks cases about flags and files that only this server has.
- The topics of the reference run six at a time, those of this server one after the other. On a busy machine
  some cases of the reference may therefore fail for lack of processor time.

`scripts/conformance` writes this page.

| topic | this server | reference |
|---|---|---|
"""


def run_again() -> str:
    """A sentence that names the topics whose figures come from a second or later run."""
    sides = {"this server": "ours", "reference": "reference"}
    named = {name: sorted(read(RESULTS / f"{side}-again.json", [])) for name, side in sides.items()}
    reruns = [
        f"{name}: {', '.join(title(topic) for topic in topics)}" for name, topics in named.items() if topics
    ]
    return f"\nThese topics ran again; the last run counts. {'; '.join(reruns)}.\n" if reruns else ""


def read(file: Path, default: Any) -> Any:
    return json.loads(file.read_text("utf-8")) if file.exists() else default


def page(ours: Results, reference: Results) -> str:
    """The page with new results; topics that were not run keep what the page says of them."""
    scores, sections = published()
    for topic, results in ours.items():
        compared = reference.get(topic, {})
        scores[title(topic)] = (score(results), score(compared))
        sections[title(topic)] = topic_section(topic, results, compared)
    overview = [f"| all | {total(s[0] for s in scores.values())} | {total(s[1] for s in scores.values())} |"]
    overview += [f"| {name} | {scores[name][0]} | {scores[name][1]} |" for name in sorted(scores)]
    details = [sections[name] for name in sorted(scores)]
    defects = defect_section(results_on_page(sections))
    # `scripts/agents-matrix` writes the section of real agents.
    return (
        HEAD + "\n".join(overview) + "\n" + run_again() + "".join(details) + sections["Real agents"] + defects
    )


def published() -> tuple[dict[str, tuple[str, str]], dict[str, str]]:
    """The scores and the section of each topic that is on the page and still in the suite."""
    head, *parts = PAGE.read_text("utf-8").split("\n## ")
    rows = [line.strip("| ").split(" | ") for line in head.splitlines() if " of " in line and line[0] == "|"]
    present = {title(path.stem) for path in SUITE.rglob("test_*.py")}
    scores = {name: (ours, reference) for name, ours, reference in rows if name in present}
    return scores, {part.partition("\n")[0]: f"\n## {part}" for part in parts}


def results_on_page(sections: dict[str, str]) -> dict[tuple[str, str], tuple[str, str]]:
    """The cells of each case by its topic and test, from the sections of the topics."""
    results = {}
    for topic in (path.stem for path in SUITE.rglob("test_*.py")):
        for line in sections.get(title(topic), "").splitlines():
            if line.startswith("| ") and not line.startswith("| case |"):
                case, ours, reference = line.strip("| ").split(" | ")
                results[topic, f"test_{case.replace(' ', '_')}"] = (ours, reference)
    return results


def total(scores: Iterable[str]) -> str:
    """The sum of scores such as `2 of 3`; `-` counts nothing."""
    pairs = [tuple(map(int, one.split(" of "))) for one in scores if one != "-"]
    return f"{sum(pair[0] for pair in pairs)} of {sum(pair[1] for pair in pairs)}"


def topic_section(topic: str, ours: dict[str, list[int]], reference: dict[str, list[int]]) -> str:
    rows = [
        f"| {name.removeprefix('test_').replace('_', ' ')} | {cell(counts)} | {cell(reference.get(name))} |"
        for name, counts in ours.items()
    ]
    head = f"\n## {title(topic)}\n\n{summary(topic)}\n\n| case | this server | reference |\n|---|---|---|\n"
    return head + "\n".join(rows) + "\n"


def title(topic: str) -> str:
    return topic.removeprefix("test_").replace("_", " ").capitalize()


def summary(topic: str) -> str:
    (source,) = SUITE.rglob(f"{topic}.py")
    text = ast.get_docstring(ast.parse(source.read_text("utf-8"))) or ""
    return text.splitlines()[0].rstrip(".") + "."


def main(arguments: list[str]) -> int:
    RESULTS.mkdir(parents=True, exist_ok=True)
    for side in arguments[:1] or ["ours", "reference"]:
        file = RESULTS / f"{side}.json"
        again = RESULTS / f"{side}-again.json"
        known = read(file, {}) if arguments[1:] else {}
        again.write_text(
            json.dumps(sorted({*read(again, []), *arguments[1:]} if arguments[1:] else [])), "utf-8"
        )
        file.write_text(json.dumps({**known, **run_side(side, arguments[1:])}), "utf-8")
    files = [RESULTS / "ours.json", RESULTS / "reference.json"]
    if not all(file.exists() for file in files):
        print("the page is written after both sides have been run")
        return 0
    ours, reference = (json.loads(file.read_text("utf-8")) for file in files)
    PAGE.write_text(page(ours, reference), "utf-8")
    print(f"wrote {PAGE.relative_to(ROOT)}")
    return int(any(counts[0] < counts[1] for topic in ours.values() for counts in topic.values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
