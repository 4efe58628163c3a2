"""Results that are about vectors, as text for a person."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.operations.render.text import counted
from memory.text.display import escape_controls

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory.engine.doctor import Finding
    from memory.engine.status import Status
    from memory.schema.usage import Call
    from memory.write.estimate import Forecast


def status(found: Status, database: str) -> str:
    from memory.search.term_vectors.learn import LEAST  # and with it the store: 3 ms of a command that shows its help

    counts = found.counts
    lines = [
        f"{database}  {counts.bytes / 1e6:,.1f} MB",
        f"{counted(counts.memories, 'memory', 'memories')} ({counts.superseded:,} superseded), "
        + counted(counts.chunks, "chunk"),
        _shares("kinds", counts.kinds),
        _shares("projects", counts.projects),
        f"model: {found.configured or 'none'}",
    ]
    for generation, embedded in found.generations:
        lines.append(
            f"vectors {generation.state}: {generation.space}, {embedded:,} of {counted(counts.embeddable, 'chunk')}"
        )
    if found.fit is None and any(embedded >= LEAST for _, embedded in found.generations):
        lines.append("lexicon: none yet; `memory embed` learns one, programs that stay do so by themselves")
    if found.fit is not None:
        lines.append(f"lexicon: {counted(found.terms, 'term')}, fit {found.fit:.2f} (search without the model)")
    if counts.queued:
        lines.append(
            f"waiting for a vector: {counted(counts.queued, 'chunk')} of "
            f"{counted(counts.waiting_memories, 'memory', 'memories')} ({counts.failed:,} failed)"
        )
    lines += [
        f"    memory {failure.memory}: {failure.failed:,} failed, {escape_controls(failure.last_error)}"
        for failure in found.failures
    ]
    if calls := sum(call.calls for call in found.today if call.host):
        tokens, cost = sum(call.tokens for call in found.today if call.host), sum(call.cost for call in found.today)
        lines.append(f"sent today: {counted(calls, 'request')}, {tokens:,} tokens{_dollars(cost)}")
    return "\n".join(line for line in lines if line)


def _shares(name: str, shares: Sequence[tuple[str, int]]) -> str:
    said = (f"{' '.join(escape_controls(label).split())[:60]} {count:,}" for label, count in shares)
    return f"{name}: {', '.join(said)}" if shares else ""


def takes(plan: Forecast) -> str:
    """What a reindex takes, in a line."""
    parts = [counted(plan.chunks, "chunk"), f"about {plan.tokens:,} tokens"]
    if plan.cost is not None:
        parts.append(f"${plan.cost:,.2f}" if plan.cost >= 0.01 else f"${plan.cost:,.6f}" if plan.cost else "no cost")
    if plan.seconds is not None:
        parts.append(_duration(plan.seconds))
    return ", ".join(parts)


def estimate(plan: Forecast) -> str:
    """What a reindex would take, for `--dry-run`."""
    lines = [f"to        {plan.model}"]
    if plan.before:
        lines.append(f"from      {plan.before}")
    lines += [f"embeds    {counted(plan.chunks, 'chunk')}", f"tokens    about {plan.tokens:,}"]
    known = f"about ${plan.cost:,.4f}" if plan.cost else "nothing"
    lines.append(f"costs     {known if plan.cost is not None else 'unknown: set `embedding.price`'}")
    lines.append(f"takes     {'unknown until some were embedded' if plan.seconds is None else _duration(plan.seconds)}")
    return "\n".join([*lines, "nothing was changed and nothing was sent"])


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"about {max(1, round(seconds))} s" if seconds else "no time"
    minutes = round(seconds / 60)
    return f"about {minutes} min" if minutes < 90 else f"about {minutes / 60:.1f} h"


def ledger(found: Sequence[Call], *, each: bool) -> str:
    """The ledger as a table, the sum in its last line."""
    rows = [_row(call, each=each) for call in found]
    if not rows:
        return ""
    head = ("when", "model", "for", "where", "calls", "texts", "tokens", "bytes out", "seconds", "cost", "")
    total = (
        "sum",
        "",
        "",
        "",
        f"{sum(call.calls for call in found):,}",
        f"{sum(call.texts for call in found):,}",
        f"{sum(call.tokens for call in found):,}",
        f"{sum(call.bytes_out for call in found):,}",
        f"{sum(call.seconds for call in found):,.1f}",
        f"${sum(call.cost for call in found):,.4f}",
        "",
    )
    table = [head, *rows, total]
    widths = [max(len(row[column]) for row in table) for column in range(len(head))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if column < 4 or column == 10 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in table
    )


def _row(call: Call, *, each: bool) -> tuple[str, ...]:
    when = f"{call.moment:%Y-%m-%d %H:%M:%S}" if each else f"{call.moment:%Y-%m-%d}"
    return (
        when,
        escape_controls(f"{call.provider}:{call.model}"),
        call.purpose,
        escape_controls(call.host) or "this process",
        f"{call.calls:,}",
        f"{call.texts:,}",
        f"{call.tokens:,}",
        f"{call.bytes_out:,}",
        f"{call.seconds:,.1f}",
        f"${call.cost:,.4f}" if call.cost else "-",
        escape_controls(call.error),
    )


def _dollars(cost: float) -> str:
    return f", ${cost:,.4f}" if cost else ""


def doctor(findings: Sequence[Finding]) -> str:
    """A line for what was looked at, what would mend it below."""
    lines = []
    for found in findings:
        mark = "mended" if found.mended else "ok" if found.well else "amiss"
        lines.append(f"{mark:<7} {found.name:<9} {escape_controls(found.told)}")
        if found.hint and not found.well:
            lines.append(f"{'':<17} {escape_controls(found.hint)}")
    return "\n".join(lines)
