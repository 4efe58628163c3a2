"""What an evaluation measured: as the dictionary that becomes JSON, and as tables in Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memory.evaluate.systems import HYBRID
from memory.operations.render.data import document, notices
from memory.operations.render.text import counted
from memory.text.display import escape_controls

if TYPE_CHECKING:
    from memory.evaluate import Evaluation, Line, OfSet
    from memory.evaluate.measures import Mean

HEAD = ("system", "nDCG@10", "Recall@5", "Recall@10", "MRR@10", "hit@5", "of hybrid", "calls", "p50 ms", "p95 ms")


def data(found: Evaluation) -> dict[str, Any]:
    """Times in seconds, shares and measures 0..1; `low` and `high` bound a mean's 95 % interval."""
    return document("eval", {"most": found.most, "sets": plain(found.sets), "notices": notices(found.notices)})


def plain(value: Any) -> Any:
    """A value with dictionaries in place of named tuples."""
    if not isinstance(value, tuple):
        return value
    items = [plain(item) for item in value]
    return dict(zip(value._fields, items, strict=True)) if hasattr(value, "_fields") else items


def text(found: Evaluation) -> str:
    """The whole report."""
    parts = [part for one in found.sets for part in (f"## {one.name}", described(one), _table(one))]
    legend = f"In brackets: 95 % bootstrap intervals. Of hybrid: nDCG@10 as a share of that of {HYBRID}. "
    legend += "Calls: questions that needed the model for their vector."
    if found.most is not None:
        legend += f" At most {found.most:,} questions of each set, always the same ones."
    return escape_controls("\n\n".join([*parts, legend]))


def described(one: OfSet) -> str:
    """What the set has, and what of it was left out."""
    asked = f"{one.questions:,} of {one.judged:,}" if one.questions < one.judged else f"{one.questions:,}"
    sentences = [f"{counted(one.documents, 'document')}, {asked} {'question' if one.judged == 1 else 'questions'}."]
    if one.model:
        sentences.append(f"Model: {one.model}.")
    if one.skipped:
        sentences.append(f"Skipped, because no answer was judged: {counted(one.skipped, 'question')}.")
    if one.unknown:
        sentences.append(f"Left out: {counted(one.unknown, 'judgment')} of documents or questions that do not exist.")
    if one.waiting:
        sentences.append(f"The model refused {counted(one.waiting, 'chunk')}.")
    return " ".join(sentences)


def _table(one: OfSet) -> str:
    lines = [HEAD, ("---", *("---:",) * (len(HEAD) - 1)), *map(_row, one.lines)]
    return "\n".join(f"| {' | '.join(row)} |" for row in lines)


def _row(line: Line) -> tuple[str, ...]:
    relative = "–" if line.relative is None else f"{100 * line.relative:.1f} %"
    times = (f"{1000 * seconds:.1f}" for seconds in (line.p50, line.p95))
    return line.system, *map(interval, line.quality), relative, share(line.calls), *times


def interval(mean: Mean, sign: str = "") -> str:
    """A mean with its interval."""
    return f"{mean.mean:{sign}.3f} ({mean.low:{sign}.3f} to {mean.high:{sign}.3f})"


def share(mean: Mean) -> str:
    """The same in percent."""
    return f"{100 * mean.mean:.0f} % ({100 * mean.low:.0f} to {100 * mean.high:.0f})"
