"""What searches took, as text for a person: numbers, bars, a plot of the times."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from memory.engine.statistics import BINS
from memory.operations.render.text import counted
from memory.text.display import BOLD, escape_controls, styled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory.engine.statistics import Bin, OfTier, OfType, Statistics

EIGHTHS = " ▁▂▃▄▅▆▇█"
ACROSS = " ▏▎▍▌▋▊▉█"
HEIGHT = 6  # lines of the plot
WIDEST = 3  # columns of a bin
BAR = 40  # columns of a tier that answers all
HEADS = ("searches", "median", "p95", "slow", "results")


def statistics(found: Statistics, width: int) -> str:
    """
    Args:
        width: Columns there are, at least `memory.operations.render.text.NARROWEST`.
    """
    if found.since is None:
        return ""
    return "\n".join(
        [
            *textwrap.wrap(
                f"{counted(found.searches, 'search', 'searches')} since {found.since:%Y-%m-%d %H:%M} UTC", width
            ),
            f"median {_time(found.p50)}, p95 {_time(found.p95)}",
            f"{found.slow:,} slow ({found.slow_share:.1%}): over {found.slow_seconds:g} s",
            "",
            _head("tiers"),
            *_tiers(found.tiers, width),
            "",
            _head("times"),
            *_plot(found.times, width),
            "",
            *_types(found.types, width),
        ]
    )


def _head(text: str) -> str:
    return styled(text, BOLD)


def _time(seconds: float) -> str:
    """Three digits or fewer, in seven columns: "0.05 ms", "3.1 ms", "120 ms", "2.5 s"."""
    if seconds < 0.9995:
        milliseconds = seconds * 1000
        digits = 2 if milliseconds < 0.0995 else 1 if milliseconds < 9.95 else 0
        return f"{milliseconds:.{digits}f} ms"
    return f"{seconds:,.{1 if seconds < 99.95 else 0}f} s"


def _tiers(tiers: Sequence[OfTier], width: int) -> list[str]:
    """A bar as long as each tier's share."""
    names = [_cut(escape_controls(tier.name), 10) for tier in tiers]
    label, number = max(map(len, names)), len(f"{tiers[0].searches:,}")
    room = min(BAR, width - label - number - 12)
    return [
        f"{name:<{label}}  {tier.share:>6.1%}  {tier.searches:>{number},}  {_bar(tier.share, room)}".rstrip()
        for name, tier in zip(names, tiers, strict=True)
    ]


def _bar(share: float, columns: int) -> str:
    """In eighths of a column, one at least."""
    eighths = max(1, round(share * columns * 8))
    return "█" * (eighths // 8) + ACROSS[eighths % 8].rstrip()


def _plot(times: Sequence[Bin], width: int) -> list[str]:
    """Columns as high as there are searches in each bin, over a logarithmic axis."""
    most = max(one.searches for one in times)
    label = len(f"{most:,}")
    wide = max(1, min(WIDEST, (width - label - 3) // len(times)))
    heights = [-(-one.searches * HEIGHT * 8 // most) for one in times]  # what there is can be seen
    lines = []
    for level in reversed(range(HEIGHT)):
        row = "".join(EIGHTHS[min(max(height - 8 * level, 0), 8)] * wide for height in heights)
        side = f"{most:>{label},} ┤" if level == HEIGHT - 1 else f"{'':{label}} │"
        lines.append(f"{side}{row}".rstrip())
    marks = "".join(("┬" if place % BINS == 0 else "─") + "─" * (wide - 1) for place in range(len(times)))
    lines.append(f"{0:>{label}} └{marks}")
    return [*lines, " " * (label + 2) + _axis(times, wide)]


def _axis(times: Sequence[Bin], wide: int) -> str:
    """What the marks of the decades say, as far as there is room."""
    line = ""
    for place in range(0, len(times), BINS):
        if len(line) < max(1, place * wide):
            low = times[place].low
            line = line.ljust(place * wide) + (f"{low:g} s" if low >= 1 else f"{1000 * low:g} ms")
    return line


def _types(types: Sequence[OfType], width: int) -> list[str]:
    """A table; where a name and its numbers do not fit into a line, they take two."""
    rows = [_numbers(type) for type in types]
    widths = [max(map(len, column)) for column in zip(HEADS, *rows, strict=True)]
    names = [_cut(escape_controls(type.name), width) for type in types]
    label = max(map(len, names))
    gap = 2 if sum(widths) + 2 * len(widths) <= width else 1
    told = [
        "".join(f"{'':{gap}}{cell:>{wide}}" for cell, wide in zip(row, widths, strict=True)) for row in (HEADS, *rows)
    ]
    if label + len(told[0]) <= width:
        lines = [f"{name:<{label}}{row}" for name, row in zip(("type", *names), told, strict=True)]
    else:
        lines = [told[0], *(line for pair in zip(names, told[1:], strict=True) for line in pair)]
    return [_head(lines[0]), *lines[1:]]


def _numbers(type: OfType) -> tuple[str, ...]:
    shown = (f"{type.searches:,}", _time(type.p50), _time(type.p95), f"{type.slow_share:.1%}")
    return (*shown, f"{type.results:,.{0 if type.results >= 99.95 else 1}f}")


def _cut(text: str, columns: int) -> str:
    return text if len(text) <= columns else text[: columns - 1] + "…"
