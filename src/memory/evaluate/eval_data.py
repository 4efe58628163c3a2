"""What an evaluation measured, as the dictionary that becomes JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memory.operations.render.data import document, notices

if TYPE_CHECKING:
    from memory.evaluate import Evaluation
    from memory.evaluate.figures import Line, OfSet, Summary
    from memory.evaluate.measures import Mean


def evaluation(found: Evaluation) -> dict[str, Any]:
    """Times in seconds, shares and measures 0..1; `low` and `high` bound a mean's 95 % interval."""
    return document(
        "eval",
        {
            "most": found.most,
            "sets": [_of_set(one) for one in found.sets],
            "summary": [_summary(one) for one in found.summary],
            "frontier": [_summary(one) for one in found.frontier],
            "notices": notices(found.notices),
        },
    )


def _of_set(one: OfSet) -> dict[str, Any]:
    return one._asdict() | {
        "lines": [_line(line) for line in one.lines],
        "frontier": [{"effort": point.effort} | _line(point.line) for point in one.frontier],
        "unanswerable": [
            other._asdict() | {"outcomes": [share._asdict() for share in other.outcomes]} for other in one.unanswerable
        ],
    }


def _line(line: Line) -> dict[str, Any]:
    return line._asdict() | {
        "quality": {name: _mean(mean) for name, mean in line.quality._asdict().items()},
        "calls": _mean(line.calls),
        "difference": None if line.difference is None else _mean(line.difference),
        "tiers": [share._asdict() for share in line.tiers],
        "outcomes": [share._asdict() for share in line.outcomes],
    }


def _mean(mean: Mean) -> dict[str, float]:
    return mean._asdict()


def _summary(one: Summary) -> dict[str, Any]:
    return one._asdict() | {"quality": one.quality._asdict()}
