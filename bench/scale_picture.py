"""The picture of `scale.py`: milliseconds by the size of the store, both axes by powers of ten."""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING

from evaluation.picture import COLOURS, DASHES, INK

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from scale import Line

WIDTH, HEIGHT = 760, 440
LEFT, RIGHT, TOP, BOTTOM = 70, 520, 40, 384  # of the plot; the legend is to its right


def curves(lines: Sequence[Line]) -> str:
    """A line for each way that was asked quietly, at the CPU of half the searches."""
    drawn: dict[str, list[tuple[float, float]]] = {}
    for one in lines:
        if "," not in one.what:
            drawn.setdefault(one.what, []).append((math.log10(one.size), math.log10(one.cpu[0])))
    sizes = [size for points in drawn.values() for size, _ in points]
    times = [time for points in drawn.values() for _, time in points]
    low, high = math.floor(min(times)), math.ceil(max(times))
    least, most = min(sizes), max(*sizes, min(sizes) + 1)

    def place(size: float, time: float) -> tuple[float, float]:
        x = LEFT + (RIGHT - LEFT) * (size - least) / (most - least)
        return x, BOTTOM - (BOTTOM - TOP) * (time - low) / max(high - low, 1)

    parts = [*_axes(range(low, high + 1), sorted({*sizes}), place)]
    for number, (name, points) in enumerate(drawn.items()):
        style = f'stroke="{COLOURS[number % len(COLOURS)]}" stroke-dasharray="{DASHES[number % len(DASHES)]}"'
        path = " L".join(f"{x:.1f} {y:.1f}" for x, y in (place(*point) for point in points))
        parts.append(f'<path d="M{path}" fill="none" {style} stroke-width="2"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" {style}/>' for x, y in (place(*one) for one in points)]
        y = TOP + 20 * number
        parts.append(f'<path d="M{RIGHT + 18} {y}h26" {style} stroke-width="2"/>')
        parts.append(f'<text x="{RIGHT + 52}" y="{y + 4}">{escape(name)}</text>')
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"'
        f' font-family="sans-serif" font-size="12" fill="{INK}" role="img">'
    )
    return (
        "\n".join([head, "<title>Milliseconds of a search by the size of the store</title>", *parts, "</svg>"]) + "\n"
    )


def _axes(
    powers: Sequence[int], sizes: Sequence[float], place: Callable[[float, float], tuple[float, float]]
) -> list[str]:
    parts = [f'<text x="{LEFT}" y="20">CPU of a search, milliseconds, p50</text>']
    for power in powers:
        y = place(sizes[0], power)[1]
        parts.append(f'<path d="M{LEFT} {y:.1f}H{RIGHT}" stroke="{INK}" stroke-opacity=".3"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{10.0**power:g}</text>')
    for size in sizes:
        x = place(size, powers[0])[0]
        parts.append(f'<text x="{x:.1f}" y="{BOTTOM + 18}" text-anchor="middle">{round(10**size):,}</text>')
    return [*parts, f'<text x="{(LEFT + RIGHT) / 2}" y="{BOTTOM + 40}" text-anchor="middle">memories</text>']
