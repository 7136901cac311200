"""A histogram of the durations of rollouts, as lines of text and as a picture (SVG)."""

from __future__ import annotations

from dataclasses import dataclass
from xml.sax.saxutils import escape

from sandbox_agent.rollouts.result import Result

_TEXT_BINS, _TEXT_WIDTH = 10, 40
_PICTURE_BINS = 30
_WIDTH, _HEIGHT, _MARGIN = 640, 240, 36


@dataclass(slots=True)
class Bin:
    start_s: float
    passed: int = 0
    others: int = 0

    @property
    def total(self) -> int:
        return self.passed + self.others


def time_bins(results: list[Result], count: int) -> list[Bin]:
    """`count` bins of the same width from the shortest to the longest time."""
    if not results:
        return []
    low, high = min(result.seconds for result in results), max(result.seconds for result in results)
    width = (high - low) / count or 1.0
    bins = [Bin(low + width * number) for number in range(count)]
    for result in results:
        found = bins[min(int((result.seconds - low) / width), count - 1)]
        if result.passed:
            found.passed += 1
        else:
            found.others += 1
    return bins


def text_histogram(results: list[Result]) -> list[str]:
    bins = time_bins(results, _TEXT_BINS)
    most = max((bin.total for bin in bins), default=0)
    return [
        f"{bin.start_s:9.1f} s  {'█' * round(_TEXT_WIDTH * bin.total / most):<{_TEXT_WIDTH}} {bin.total}"
        for bin in bins
    ]


def svg_histogram(results: list[Result], title: str) -> str:
    """A picture with passed rollouts in green and the others above them in red."""
    bins = time_bins(results, _PICTURE_BINS)
    most = max((bin.total for bin in bins), default=1)
    step, scale = (_WIDTH - 2 * _MARGIN) / _PICTURE_BINS, (_HEIGHT - 2 * _MARGIN) / most
    bottom = _HEIGHT - _MARGIN
    bars = []
    for number, bin in enumerate(bins):
        x, passed = _MARGIN + number * step, bin.passed * scale
        bars.append(_bar(x, bottom - passed, step, passed, "#1a7a46"))
        bars.append(_bar(x, bottom - bin.total * scale, step, bin.others * scale, "#b42318"))
    shortest, longest = (f"{bins[0].start_s:.1f} s", _end_of(bins)) if bins else ("", "")
    passed_count = sum(result.passed for result in results)
    heading = f"{title}: {passed_count} of {len(results)} passed"
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
            'font-family="sans-serif" font-size="12">',
            f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#ffffff"/>',
            f'<text x="{_MARGIN}" y="20" font-size="14">{escape(heading)}</text>',
            *bars,
            f'<path d="M{_MARGIN} {bottom}H{_WIDTH - _MARGIN}" stroke="#5a6475"/>',
            f'<text x="{_MARGIN}" y="{bottom + 18}">{shortest}</text>',
            f'<text x="{_WIDTH - _MARGIN}" y="{bottom + 18}" text-anchor="end">{longest}</text>',
            f'<text x="{_MARGIN - 6}" y="{_MARGIN + 10}" text-anchor="end">{most if bins else ""}</text>',
            "</svg>\n",
        )
    )


def _end_of(bins: list[Bin]) -> str:
    width = bins[1].start_s - bins[0].start_s
    return f"{bins[-1].start_s + width:.1f} s"


def _bar(x: float, y: float, step: float, height: float, colour: str) -> str:
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{step - 1:.1f}" height="{height:.1f}" fill="{colour}"/>'
