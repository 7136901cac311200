"""Draw the ratios of a result as a PNG: `python chart.py result.json chart.png`.

It runs in an environment of its own with matplotlib, so it imports nothing else of the benchmark.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import matplotlib  # type: ignore[import-not-found]

matplotlib.use("Agg")
from matplotlib import pyplot

HIGHER_IS_BETTER = ("throughput", "events delivered")


def draw(result: Path, picture: Path) -> None:
    found = [row for row in json.loads(result.read_text())["rows"] if row["ratio"]]
    gains = [_gain(row["label"], row["ratio"]) for row in found]
    figure, axes = pyplot.subplots(figsize=(10, 0.26 * len(found) + 1.4))
    colours = ["#2a7f62" if gain >= 1 else "#b5483a" for gain in gains]
    axes.barh(range(len(found)), [gain - 1 for gain in gains], left=1, color=colours)
    axes.set_yticks(range(len(found)), [row["label"] for row in found], fontsize=8)
    axes.invert_yaxis()
    axes.set_xscale("log")
    ticks = [0.25, 0.5, 1, 2, 5, 10, 20, 40]
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_xlabel("times better than the reference (1 = the same, log scale)")
    for at, gain in enumerate(gains):
        side = "left" if gain >= 1 else "right"
        axes.annotate(f" {gain:.1f} ", (gain, at), ha=side, va="center", fontsize=7)
    axes.margins(x=0.12, y=0.01)
    axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(picture, dpi=110)


def _gain(label: str, ratio: float) -> float:
    return ratio if label.endswith(HIGHER_IS_BETTER) else 1 / ratio


if __name__ == "__main__":
    draw(Path(sys.argv[1]), Path(sys.argv[2]))
