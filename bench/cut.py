"""
How much of the index the questions of judged sets read, beside what a query may.

    python bench/cut.py DATASETS ...      each folder a judged set, or one of them; ends with 1 if a question is cut

A query may read `memory.text.lookup.POSTINGS` places of the keyword index; one that would read more is cut short and
says so. No honest question should be: this looks at all of some sets, in stores made of their documents.
"""

from __future__ import annotations

import argparse
import sys
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from memory import Config
from memory.evaluate.judged import folders, read
from memory.evaluate.systems import opened
from memory.text.lookup import POSTINGS, cost, forms, stems
from memory.text.terms import terms

if TYPE_CHECKING:
    from memory import Engine


def entries(engine: Engine, text: str) -> tuple[int, int]:
    """How many terms of a question are cut, and what the others cost."""
    store = engine.store
    found = store.keywords.weigh(terms(text))
    words = [token for form in forms([term for term in found if not term.cut]) for token in stems(form.text)]
    with store._db.read() as db:
        vocabulary = store.keywords._vocabulary(db)
        return sum(term.cut for term in found), sum(cost(*vocabulary[word]) for word in words)


def main() -> int:
    parser = argparse.ArgumentParser(description="How much of the index the questions of judged sets read.")
    parser.add_argument("datasets", nargs="+", type=Path, help="folders of judged sets")
    given = parser.parse_args()
    config = replace(Config(), embedding=replace(Config().embedding, provider="none"))
    all_cut = 0
    for folder in folders(given.datasets):
        judged = read(folder)
        with opened(
            judged, config, None, embeds=False, watch=lambda _label: nullcontext(lambda _done, _total: None)
        ) as engine:
            asked = [entries(engine, question.text) for question in judged.questions]
        cut = sum(cut > 0 for cut, _ in asked)
        all_cut += cut
        most = max(read for _, read in asked)
        print(f"{judged.name}: {len(asked):,} questions, {cut} cut; the greediest reads {most:,} of {POSTINGS:,}")
    return 1 if all_cut else 0


if __name__ == "__main__":
    sys.exit(main())
