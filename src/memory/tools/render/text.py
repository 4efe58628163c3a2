"""Results as a person reads them: plain lines, with colour if the terminal supports it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, TypeVar

from memory.schema.answer import Answer, Hit, Notice, Outcome, Tier
from memory.schema.errors import WHAT_OF_BODY
from memory.schema.memory import INSTRUCTIONS, Memory, Standing
from memory.schema.moments import ago, bounds
from memory.schema.query import MOST, Granularity
from memory.text.display import BOLD, DIM, YELLOW, escape_controls, styled
from memory.tools.render.data import headings

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

Item = TypeVar("Item")

WIDTH = 110  # where there is no terminal
NARROWEST = 40
LINES = 3  # of a passage
TITLE = 60  # characters of a text in place of a title, or of the first line of a memory in a table

SHOWN = ("title", "what", "why", "impact", "category", "project", "source")


def escaped(memory: Memory) -> Memory:
    """A memory whose texts are safe to show, but for its body."""
    changes: dict[str, Any] = {name: escape_controls(text) for name in SHOWN if (text := getattr(memory, name))}
    changes |= {name: tuple(map(escape_controls, getattr(memory, name))) for name in ("tags", "related_files")}
    return memory._replace(**changes)


def width() -> int:
    """Columns to wrap at."""
    if not sys.stdout.isatty():
        return WIDTH
    import shutil

    return max(shutil.get_terminal_size().columns, NARROWEST)


HOW = {
    Tier.KEYWORD: "by keywords",
    Tier.DISTILLED: "by a local estimate",
    Tier.HYBRID: "by meaning",
    Tier.VECTOR: "by meaning",
}
"""How an answer was found."""


def verdict(found: Answer) -> str:
    """One line: whether anything fits, how it was found, and how long that took. The reasons are in `explanation`."""
    how = f"found {HOW[found.tier]} in {duration(found.seconds)}"
    if not found.hits:
        return styled(f"Nothing {how}", DIM)
    match found.outcome:
        case Outcome.NOTHING_RELEVANT:
            return "Nothing saved fits this; closest:"
        case Outcome.WEAK:
            return f"Possible matches, {how}"
        case Outcome.DEGRADED:
            return f"{how.capitalize()}; better ones may be missing"
    return styled(how.capitalize(), DIM)


def answer(found: Answer, *, explain: bool = False) -> str:
    fine = found.query.granularity is Granularity.FINE
    blocks = [
        _hit(hit, rank, headings(found, hit), fine=fine, explain=explain)
        for rank, hit in enumerate(found.hits, start=1)
    ]
    if explain:
        blocks.append(explanation(found))
    return "\n\n".join(blocks)


def _hit(hit: Hit, rank: int, above: Sequence[str], *, fine: bool, explain: bool) -> str:
    memory = escaped(hit.memory)
    lines = [f"{rank:2d}  {headline(memory, hit.remarks)}"]
    passage = hit.chunk.start < hit.chunk.stop
    if memory.what and not (passage and speaks_for_body(hit.memory)):
        lines += _indented(memory.what)
    if fine:
        lines.append(styled(f"    chunk {hit.chunk_id}", DIM))
    if passage:
        headers = [escape_controls(header).lstrip("# ") for header in above]
        place = " › ".join(headers[1:] if headers[:1] == [memory.title] else headers)
        lines += [styled(f"    {place}", DIM)] if place else []
        text = escape_controls(hit.text)
        first, _, rest = text.lstrip("\ufeff \t\n").partition("\n")
        known = [memory.title, *headers]
        lines += _indented(rest if first.startswith("#") and first.strip("# ") in known else text)
    if explain:
        lines.append(styled(f"    {_evidence(hit)}", DIM))
    return "\n".join(lines)


def speaks_for_body(memory: Memory) -> bool:
    """Whether `what` is only the beginning of the body: then the passage says more."""
    return memory.kind != "note" and len(memory.what) == min(WHAT_OF_BODY, memory.body_size)


def headline(memory: Memory, remarks: Sequence[str] = ()) -> str:
    """The title, the place and the time of a memory that is `escaped`, with remarks."""
    facts = [memory.category or str(memory.kind), plain(memory.project or ""), ago(memory.happened)]
    facts += [f"by {plain(memory.author)}"] if memory.author else []
    facts += [f"#{plain(tag)}" for tag in memory.tags]
    title = styled(memory.title or _beginning(memory.what) or str(memory.kind), BOLD)
    said = [" (pinned)"] if memory.pinned else []
    said += [" (superseded)"] if memory.status == "superseded" else []
    said += [f" ({bound})"] if (bound := bounds(memory.valid_until)) else []
    said += [" (looks like orders to an agent)"] if INSTRUCTIONS in memory.flags else []
    said += [f" ({remark})" for remark in remarks]
    marks = styled("".join(said), YELLOW) if said else ""
    return f"{title}{marks}  {styled(' · '.join(f for f in facts if f), DIM)}  {memory.short_id}"


def named(memory: Memory) -> str:
    """A memory by its id and its title."""
    return f"{memory.short_id} {escape_controls(memory.title)}".rstrip()


def _beginning(text: str) -> str:
    """The beginning of a text, in place of a missing title."""
    first = " ".join(text.split())
    if len(first) <= TITLE:
        return first
    from textwrap import shorten

    return shorten(first, TITLE, placeholder="…")


def _evidence(hit: Hit) -> str:
    ranks = dict(hit.ranks)
    parts = [f"relevance {hit.relevance:.3f}", f"score {hit.score:.3f}", f"coverage {hit.coverage:.0%}"]
    if hit.keyword is not None:
        parts.append(f"BM25 {hit.keyword:.3g}" + (f" (#{ranks['keyword']})" if "keyword" in ranks else ""))
    if hit.cosine is not None:
        parts.append(f"cosine {hit.cosine:.3f}" + (f" (#{ranks['vector']})" if "vector" in ranks else ""))
    return " · ".join(parts)


def _indented(text: str, lines: int = LINES) -> list[str]:
    from textwrap import wrap

    found = [part for line in text.strip().splitlines() for part in wrap(line, width() - 4)]
    return [f"    {line}" for line in found[:lines]] + (["    …"] if len(found) > lines else [])


def explanation(found: Answer) -> str:
    """Why: the words and their weights, the verdict of the gate, and where the time went."""
    lines = ["Keywords looked for"]
    for term in found.terms:
        sort = "beginning of words" if term.prefix else "pair of characters" if term.gram else ""
        lines.append(
            f"    {escape_controls(term.text):<24} weight {term.weight:5.2f}  in {counted(term.rows, 'chunk')}  {sort}".rstrip()
        )
    if not found.terms:
        lines.append("    none")
    if found.verdict:
        said = "enough" if found.verdict.enough else f"not enough, on to the {found.verdict.tier} tier"
        lines += [f"Keywords: {said}", f"    {found.verdict.why}"]
    lines.append("Steps")
    lines += [
        f"    {step.name:<8} {step.found:>6,} found  {duration(step.seconds):>7}  {step.note}".rstrip()
        for step in found.steps
    ]
    worth = f" ({found.worth})" if found.worth else ""
    return "\n".join([*lines, f"Tier: {found.tier}", f"Outcome: {found.outcome}{worth}"])


def duration(seconds: float) -> str:
    """Three digits or fewer, in seven columns: "0.05 ms", "3.1 ms", "120 ms", "2.5 s"."""
    if seconds < 0.9995:
        milliseconds = seconds * 1000
        digits = 2 if milliseconds < 0.0995 else 1 if milliseconds < 9.95 else 0
        return f"{milliseconds:.{digits}f} ms"
    return f"{seconds:,.{1 if seconds < 99.95 else 0}f} s"


def listing(memories: Iterable[Memory]) -> str:
    return "\n".join(headline(escaped(memory)) for memory in memories)


def notice(found: Notice) -> str:
    return escape_controls(f"{found.text}. {found.hint}".rstrip() if found.hint else found.text)


def counted(number: int, one: str, several: str = "") -> str:
    """A number of things: "1 chunk", "2 chunks"."""
    return f"{number:,} {one if number == 1 else several or one + 's'}"


def table(rows: Sequence[Sequence[str]], right: Collection[int] = ()) -> str:
    """
    Lines of columns, without empty columns.

    Args:
        right: Columns that are aligned to the right, from 0.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if column in right else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
            if width
        ).rstrip()
        for row in rows
    )


def shares(counts: Iterable[tuple[str, int]]) -> str:
    return ", ".join(f"{plain(name)} {count:,}" for name, count in counts)


def plain(text: str) -> str:
    """A text as one line."""
    return " ".join(escape_controls(text).split())


def short_row(memory: Memory) -> tuple[str, ...]:
    said = (plain(part) for part in (memory.title, *memory.what.splitlines()))
    head = next(filter(None, said), "")
    facts = [memory.agent_id, memory.task_code, ago(memory.happened)]
    facts += ["superseded"] if memory.status is Standing.SUPERSEDED else []
    facts += [bounds(memory.valid_until)]
    facts += ["looks like orders to an agent"] if INSTRUCTIONS in memory.flags else []
    return (
        str(memory.kind),
        head if len(head) <= TITLE else f"{head[: TITLE - 1]}…",
        " · ".join(plain(fact) for fact in facts if fact),
        memory.short_id,
    )


def first(found: Iterable[Item], limit: int) -> tuple[list[Item], str]:
    """The first items of a list that was read with one more than is shown, and a sentence if there may be more."""
    items = list(found)
    if len(items) > limit:
        return items[:limit], f"there are more than {limit:,}; -n shows them"
    return items, f"there may be more: {MOST:,} are shown at most" if len(items) == MOST else ""
