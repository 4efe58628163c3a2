"""The memory itself as text for a person: its state, its vectors, and its searches as numbers, bars and a plot."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from memory.engine.statistics import BINS, Bin, OfTier, OfType, Statistics
from memory.schema.moments import minute, second
from memory.text.display import BOLD, escape_controls, styled
from memory.tools.render.text import counted, duration, table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory.engine.status import Finding, Status
    from memory.engine.vectors import Forecast
    from memory.schema.space import UsageEntry

EIGHTHS = " ▁▂▃▄▅▆▇█"
ACROSS = " ▏▎▍▌▋▊▉█"
HEIGHT = 6  # lines of the plot
WHAT = "looked for"
WIDEST = 3  # columns of a bin
BAR = 40  # columns of a tier that answers all
HEADS = ("count", "median", "p95", "slow", "avg hits")
SIZES = {"fine": "passages", "medium": "sections", "coarse": "memories"}
"""What a search looked for, by its granularity."""


def status(found: Status, database: str) -> str:
    from memory.engine.status import UNAIDED  # 3 ms of a command that shows its help

    counts = found.counts
    superseded = f" ({counts.superseded:,} superseded)" if counts.superseded else ""
    lines = [
        f"{database}  {counts.bytes / 1e6:,.1f} MB",
        f"{counted(counts.memories, 'memory', 'memories')}{superseded}, {counted(counts.chunks, 'chunk')}",
        _shares("kinds", counts.kinds),
        _shares("projects", counts.projects),
        f"model: {found.configured or 'none'}",
    ]
    for generation, embedded in found.generations:
        lines.append(
            f"vectors {generation.state}: {generation.space}, {embedded:,} of {counted(counts.embeddable, 'chunk')}"
        )
    lines.append(_index(found))
    if found.fit is None and any(embedded >= UNAIDED for _, embedded in found.generations):
        lines.append(
            "term vectors: none yet; `memory embed` learns them, and long-running programs do so by themselves"
        )
    if found.fit is not None:
        begun = f", from {counted(found.words, 'word')} of the model" if found.words else ""
        wait = f"; {counted(found.waiting, 'chunk')} wait to be learned from" if found.waiting else ""
        known = f"{counted(found.terms, 'term')}{begun}, fit {found.fit:.2f} (search without the model)"
        lines.append(f"term vectors: {known}{wait}")
    if counts.postings:
        lines.append(f"postings: {counted(counts.postings, 'chunk')} (keywords of programs that stay)")
    if counts.trashed:
        deleted = counted(counts.trashed, "deleted memory", "deleted memories")
        lines.append(f"trash: {deleted}, {counts.trash_bytes / 1e3:,.1f} KB (memory trash)")
    if counts.queued:
        lines.append(
            f"waiting for a vector: {counted(counts.queued, 'chunk')} of "
            f"{counted(counts.waiting_memories, 'memory', 'memories')} ({counts.failed:,} failed)"
        )
    lines += [
        f"    memory {memory.short_id}: {failure.failed:,} failed, {escape_controls(failure.last_error)}"
        for memory, failure in found.failures
    ]
    lines.append(_sent(found))
    return "\n".join(line for line in lines if line)


def _index(found: Status) -> str:
    if found.signed:
        return f"vector index: {counted(found.signed, 'vector')}"
    compared = any(embedded and generation.state == "active" for generation, embedded in found.generations)
    return "vector index: not used, every vector is compared" if compared else ""


def _sent(found: Status) -> str:
    sent = [call for call in found.today if not call.stays]
    calls, cost = sum(call.calls for call in sent), sum(call.cost for call in sent)
    paid = f", ${cost:,.4f}" if cost else ""
    tokens = sum(call.tokens for call in sent)
    return f"sent today: {counted(calls, 'request')}, {tokens:,} tokens{paid}" if calls else ""


def _shares(name: str, shares: Sequence[tuple[str, int]]) -> str:
    said = (f"{' '.join(escape_controls(label).split())[:60]} {count:,}" for label, count in shares)
    return f"{name}: {', '.join(said)}" if shares else ""


def takes(plan: Forecast) -> str:
    """What a reindex takes, in a line."""
    parts = [_embeds(plan), f"about {plan.tokens:,} tokens"]
    if plan.cost is not None:
        parts.append(f"${plan.cost:,.2f}" if plan.cost >= 0.01 else f"${plan.cost:,.6f}" if plan.cost else "no cost")
    if plan.seconds is not None:
        parts.append(_duration(plan.seconds))
    return ", ".join(parts)


def _embeds(plan: Forecast) -> str:
    """The texts that are embedded: chunks, words of the list, and all together if there are others."""
    parts = [counted(plan.chunks, "chunk"), *([f"{plan.words:,} words of the model"] if plan.words else [])]
    said = " and ".join(parts)
    return said if plan.texts == plan.chunks + plan.words else f"{said}, {plan.texts:,} texts in all"


def estimate(plan: Forecast) -> str:
    """What a reindex would take, for `--dry-run`."""
    lines = [f"to        {plan.model}"]
    if plan.before:
        lines.append(f"from      {plan.before}")
    lines += [f"embeds    {_embeds(plan)}", f"tokens    about {plan.tokens:,}"]
    known = f"about ${plan.cost:,.4f}" if plan.cost else "nothing"
    lines.append(f"costs     {known if plan.cost is not None else 'unknown'}")
    lines.append(f"takes     {'unknown until some were embedded' if plan.seconds is None else _duration(plan.seconds)}")
    return "\n".join([*lines, "nothing was changed and nothing was sent"])


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"about {max(1, round(seconds))} s" if seconds else "no time"
    minutes = round(seconds / 60)
    return f"about {minutes} min" if minutes < 90 else f"about {minutes / 60:.1f} h"


def ledger(found: Sequence[UsageEntry], *, each: bool) -> str:
    """The ledger as a table, the sum in its last line."""
    if not found:
        return ""
    head = (
        "when" if each else "day (UTC)",
        "model",
        "for",
        "where",
        "calls",
        "texts",
        "tokens",
        "bytes out",
        "seconds",
        "cost",
        "",
    )
    rows = [
        (
            second(call.moment) if each else f"{call.moment:%Y-%m-%d}",
            escape_controls(f"{call.provider}:{call.model}"),
            call.purpose,
            escape_controls(call.host) or "this process",
            *_sums([call]),
            f"${call.cost:,.4f}" if call.cost else "-",
            escape_controls(call.error),
        )
        for call in found
    ]
    total = ("sum", "", "", "", *_sums(found), f"${sum(call.cost for call in found):,.4f}", "")
    return table([head, *rows, total], right=range(4, 10))


def _sums(found: Sequence[UsageEntry]) -> tuple[str, ...]:
    """Of calls, texts, tokens, bytes and seconds."""
    counts = zip(*((call.calls, call.texts, call.tokens, call.bytes_out) for call in found), strict=True)
    return (*(f"{sum(count):,}" for count in counts), f"{sum(call.seconds for call in found):,.1f}")


def doctor(findings: Sequence[Finding]) -> str:
    """A line for each check, and below it how to repair what failed."""
    lines = []
    for found in findings:
        mark = "repaired" if found.mended else "ok" if found.well else "problem"
        lines.append(f"{mark:<8} {found.name:<9} {escape_controls(found.told)}")
        if found.hint and not found.well:
            lines.append(f"{'':<18} {escape_controls(found.hint)}")
    return "\n".join(lines)


# Searches ----------------------------------------------------------------


def statistics(found: Statistics, width: int) -> str:
    """
    Args:
        width: The columns of the terminal, at least `memory.tools.render.text.NARROWEST`.
    """
    if found.since is None:
        return ""
    return "\n".join(
        [
            *textwrap.wrap(f"{counted(found.searches, 'search', 'searches')} since {minute(found.since)}", width),
            f"median {duration(found.p50)}, p95 {duration(found.p95)}",
            f"{found.slow:,} slow ({found.slow_share:.1%}): over {found.slow_seconds:g} s",
            "",
            styled("tiers", BOLD),
            *_tiers(found.tiers, width),
            "",
            styled("times", BOLD),
            *_plot(found.times, width),
            "",
            *_types(found.types, width),
        ]
    )


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
    """A bar in eighths of a column, at least one."""
    eighths = max(1, round(share * columns * 8))
    return "█" * (eighths // 8) + ACROSS[eighths % 8].rstrip()


def _plot(times: Sequence[Bin], width: int) -> list[str]:
    """A histogram: the searches in each bin, over a logarithmic axis."""
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
    """Labels for the marks of the decades, where there is room."""
    line = ""
    for place in range(0, len(times), BINS):
        if len(line) < max(1, place * wide):
            low = times[place].low
            line = line.ljust(place * wide) + (f"{low:g} s" if low >= 1 else f"{1000 * low:g} ms")
    return line


def _types(types: Sequence[OfType], width: int) -> list[str]:
    """A table; a name and its numbers take two lines if they do not fit into one."""
    rows = [_numbers(type) for type in types]
    widths = [max(map(len, column)) for column in zip(HEADS, *rows, strict=True)]
    names = [_cut(escape_controls(_sought(type.name)), width) for type in types]
    label = max(map(len, (*names, WHAT)))
    gap = 2 if sum(widths) + 2 * len(widths) <= width else 1
    told = [
        "".join(f"{'':{gap}}{cell:>{wide}}" for cell, wide in zip(row, widths, strict=True)) for row in (HEADS, *rows)
    ]
    if label + len(told[0]) <= width:
        lines = [f"{name:<{label}}{row}" for name, row in zip((WHAT, *names), told, strict=True)]
    else:
        lines = [told[0], *(line for pair in zip(names, told[1:], strict=True) for line in pair)]
    return [styled(lines[0], BOLD), *lines[1:]]


def _sought(type: str) -> str:
    """What searches of a type looked for, see `Scope.remembered`: "memories", "passages: report"."""
    _, _, of = type.partition("_")
    size, _, kinds = of.partition("_")
    if size not in SIZES:
        return type
    return SIZES[size] if kinds == "all" else f"{SIZES[size]}: {kinds.replace('+', ', ')}"


def _numbers(type: OfType) -> tuple[str, ...]:
    shown = (f"{type.searches:,}", duration(type.p50), duration(type.p95), f"{type.slow_share:.1%}")
    return (*shown, f"{type.results:,.{0 if type.results >= 99.95 else 1}f}")


def _cut(text: str, columns: int) -> str:
    return text if len(text) <= columns else text[: columns - 1] + "…"
