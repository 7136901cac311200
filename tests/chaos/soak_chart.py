"""Draw a soak run as a PNG: `python soak_chart.py result.json chart.png`.

Runs in a separate environment that has matplotlib, so this file imports nothing else of the project.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import matplotlib  # type: ignore[import-not-found]

matplotlib.use("Agg")
from matplotlib import pyplot

PANELS = {
    "memory_mb": "memory of the server, MB",
    "descriptors": "open descriptors",
    "processes": "processes",
    "health_ms": "health, ms",
}


def draw(result: Path, picture: Path) -> None:
    samples = json.loads(result.read_text())["samples"]
    minutes = [sample["second"] / 60 for sample in samples]
    figure, panels = pyplot.subplots(2, 2, figsize=(10, 5.5), sharex=True)
    for axes, (name, label) in zip(panels.flat, PANELS.items(), strict=True):
        axes.plot(minutes, [sample[name] for sample in samples], color="#2a7f62", linewidth=0.9)
        axes.set_title(label, fontsize=9)
        axes.set_ylim(bottom=0)
        axes.spines[["top", "right"]].set_visible(False)
    for axes in panels[1]:
        axes.set_xlabel("minutes", fontsize=8)
    figure.tight_layout()
    figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    draw(Path(sys.argv[1]), Path(sys.argv[2]))
