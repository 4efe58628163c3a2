"""Results as a person reads them: plain lines, colour where the terminal takes it."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from memory.engine import Details
    from memory.query import Answer, Hit, Notice
    from memory.record import Memory
    from memory.status import Status

WIDTH = 110
LINES = 3  # of a passage


def verdict(found: Answer) -> str:
    """One line: which tier answered, why, and how long it took."""
    why = f" · {found.verdict.why}" if found.verdict else ""
    return click.style(f"{found.tier}{why} · {_milliseconds(found.seconds)}", dim=True)


def answer(found: Answer, *, explain: bool = False) -> str:
    blocks = [_hit(hit, rank, explain=explain) for rank, hit in enumerate(found.hits, start=1)]
    if explain:
        blocks.append(explanation(found))
    return "\n\n".join(blocks)


def _hit(hit: Hit, rank: int, *, explain: bool) -> str:
    lines = [f"{rank:2d}  {_headline(hit.memory)}"]
    if hit.memory.what:
        lines += _indented(hit.memory.what)
    if hit.chunk.start < hit.chunk.stop:
        place = " › ".join(header.lstrip("# ") for header in hit.chunk.header_path)
        lines += [click.style(f"    {place}", dim=True)] if place else []
        lines += _indented(hit.text)
    if explain:
        lines.append(click.style(f"    {_evidence(hit)}", dim=True))
    return "\n".join(lines)


def _headline(memory: Memory) -> str:
    facts = [memory.category or str(memory.kind), memory.project, f"{memory.created_at:%Y-%m-%d}"]
    facts += [f"#{tag}" for tag in memory.tags]
    title = click.style(memory.title or str(memory.kind), bold=True)
    retired = click.style(" (superseded)", fg="yellow") if memory.status == "superseded" else ""
    return f"{title}{retired}  {click.style(' · '.join(f for f in facts if f), dim=True)}  {memory.uid[:8]}"


def _evidence(hit: Hit) -> str:
    ranks = dict(hit.ranks)
    parts = [f"score {hit.score:.3f}", f"coverage {hit.coverage:.0%}"]
    if hit.keyword is not None:
        parts.append(f"BM25 {hit.keyword:.2f}" + (f" (#{ranks['keyword']})" if "keyword" in ranks else ""))
    if hit.cosine is not None:
        parts.append(f"cosine {hit.cosine:.3f}" + (f" (#{ranks['vector']})" if "vector" in ranks else ""))
    return " · ".join(parts)


def _indented(text: str, lines: int = LINES) -> list[str]:
    found = [part for line in text.strip().splitlines() for part in textwrap.wrap(line, WIDTH - 4)]
    return [f"    {line}" for line in found[:lines]] + (["    …"] if len(found) > lines else [])


def explanation(found: Answer) -> str:
    """Why: the words and what they are worth, what the gate said, and where the time went."""
    lines = ["Terms (what the keyword leg looked for)"]
    for term in found.terms:
        sort = "beginning of words" if term.prefix else "pair of characters" if term.gram else ""
        lines.append(f"    {term.text:<24} weight {term.weight:5.2f}  in {term.rows:,} chunks  {sort}".rstrip())
    if not found.terms:
        lines.append("    none")
    if found.verdict:
        said = "enough" if found.verdict.enough else "not enough"
        lines += [f"Keywords: {said}", f"    {found.verdict.why}"]
    lines.append("Steps")
    lines += [
        f"    {step.name:<8} {step.found:>6,} found  {_milliseconds(step.seconds):>9}  {step.note}".rstrip()
        for step in found.steps
    ]
    return "\n".join([*lines, f"Tier: {found.tier}"])


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:.1f} ms"


def listing(memories: Iterable[Memory]) -> str:
    return "\n".join(f"{memory.id:>6}  {_headline(memory)}" for memory in memories)


def details(found: Details) -> str:
    memory = found.memory
    lines = [_headline(memory), f"id {memory.id} · uid {memory.uid} · {memory.status}"]
    if memory.superseded_by:
        lines.append(f"superseded by {memory.superseded_by}")
    for label, text in (("What", memory.what), ("Why", memory.why), ("Impact", memory.impact)):
        if text:
            lines.append(f"{label}: {text}")
    if memory.related_files:
        lines.append(f"Files: {', '.join(memory.related_files)}")
    if memory.source:
        lines.append(f"Source: {memory.source}")
    if found.body:
        lines += ["", found.body]
    for revision in found.history:
        lines += [
            "",
            f"Until {revision.replaced_at:%Y-%m-%d %H:%M} it said: {revision.memory.title}. {revision.memory.what}",
        ]
    return "\n".join(lines)


def status(found: Status, database: str) -> str:
    counts = found.counts
    lines = [
        f"{database}  {counts.bytes / 1e6:,.1f} MB",
        f"{counts.memories:,} memories ({counts.superseded:,} superseded), {counts.chunks:,} chunks",
        _shares("kinds", counts.kinds),
        _shares("projects", counts.projects),
        f"model: {found.configured or 'none'}",
    ]
    for generation, filled in found.generations:
        lines.append(f"vectors {generation.state}: {generation.space}, {filled:,} of {counts.chunks:,} chunks")
    if counts.queued:
        lines.append(f"waiting for a vector: {counts.queued:,} ({counts.failed:,} failed) {counts.last_error}".rstrip())
    return "\n".join(line for line in lines if line)


def _shares(name: str, shares: Sequence[tuple[str, int]]) -> str:
    return f"{name}: " + ", ".join(f"{label} {count:,}" for label, count in shares) if shares else ""


def notice(found: Notice) -> str:
    return f"{found.text}. {found.hint}".rstrip() if found.hint else found.text
