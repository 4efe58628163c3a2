"""
Which text of an entity should be embedded, and what a threshold means: pure cosine search with the local model.

    python bench/entities.py                    entities written and judged by hand, two minutes
    python bench/entities.py FOLDER [SET ...]   judged sets too, as for bench/quality.py, about five minutes
    python bench/entities.py --keep             the run is kept in bench/runs/

Of a judged set each document becomes an entity: its title the name, its first sentences the observations; of a set of
functions, the docstring. "best observation" has a vector for each and takes the nearest; all other forms have one vector
an entity. Quality is of pure vector search; questions without an answer count for thresholds only.

The last tables ask the engine itself, without a threshold: some of the entities by lot, each time in a store of their
own, the questions that these answer, and strangers, which none does: the thirty of `tests/support/judged/strangers`, and
the sixty of the second set. A right answer is denied if confidence says `nothing_relevant`; otherwise it is shown if an
entity that answers the question is among the hits.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import entity_set_houses as houses
from entity_set import ENTITIES, QUESTIONS
from memory import Config, Engine
from memory.evaluate.judged import read
from memory.keep.entry import chunked
from memory.schema.draft import Draft
from memory.schema.errors import TITLE_LIMIT
from memory.schema.kinds import Kind
from memory.schema.memory import ChunkId, Excerpt, MemoryId
from memory.store.sqlite import SqliteStore
from memory.text.markdown import listed
from memory.text.tokens import passage
from memory.tools.graph import EntityGraph
from memory.vectors.local.embedder import LocalEmbedder
from report import setting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from memory.vectors import Role

K = 10
STORES = {3: 20, 5: 20, 9: 20, 15: 10, 30: 5, 50: 1}
"""How many stores are drawn, by how many entities each has."""
STRANGERS = Path(__file__).parents[1] / "tests" / "support" / "judged" / "strangers" / "queries.jsonl"
COSINES = (0.2, 0.3, 0.4, 0.5, 0.6)
RULES = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
SENTENCES = 4
MADE, ENGINE = "made", "the engine's passage"
NOTHING = "nothing_relevant"
CELL = "precision / recall of the first ten / questions that find nothing / found for a question without an answer"
SCENARIO = "programming language"
"""What the documented scenario asks for: it is to find the first two and not the third, with the default threshold."""


class Entity(NamedTuple):
    name: str
    type: str
    observations: tuple[str, ...]


SCENE = (
    Entity("Python", "", ("high-level language",)),
    Entity("JavaScript", "", ("web scripting language",)),
    Entity("Database", "", ("data storage system",)),
)


class Set(NamedTuple):
    """Entities, questions, and for each question the gains of the entities that answer it, by index."""

    entities: Sequence[Entity]
    questions: Sequence[str]
    gains: Sequence[Mapping[int, float]]


# Forms -----------------------------------------------------------------------


def engine(entity: Entity) -> list[str]:
    """The passages that the engine makes of it, with the observations as a Markdown list."""
    body = listed(entity.observations)
    draft = Draft(kind=Kind.ENTITY, title=entity.name, body=body)
    return [
        passage(
            Excerpt(ChunkId(0), MemoryId(0), piece, body[piece.start : piece.stop], "", draft.title, "", "", "", ())
        )
        for piece in chunked(draft)
    ]


def typed(entity: Entity) -> Entity:
    return entity._replace(name=f"{entity.name} ({entity.type})") if entity.type else entity


FORMS: Mapping[str, Callable[[Entity], list[str]]] = {
    "name + observations": lambda e: [" ".join((e.name, *e.observations))],
    "Entity: … Observations: …": lambda e: [f"Entity: {e.name}. Observations: {', '.join(e.observations)}"],
    "observations only": lambda e: [" ".join(e.observations)],
    ENGINE: engine,
    "that without the dashes": lambda e: ["\n".join((e.name, *e.observations))],
    "that with the type": lambda e: engine(typed(e)),
    "name: o1; o2": lambda e: [f"{e.name}: {'; '.join(e.observations)}"],
    "best observation": lambda e: list(e.observations),
    "best name + observation": lambda e: [f"{e.name}\n{one}" for one in e.observations],
    "best of passage and observations": lambda e: [*engine(e), *e.observations],
}


# Sets ------------------------------------------------------------------------


def made() -> Set:
    entities = [Entity(name, type, observations) for name, type, *observations in ENTITIES]
    places = {entity.name: place for place, entity in enumerate(entities)}
    gains = [{places[name]: 1.0 for name in names} for _, *names in QUESTIONS]
    return Set(entities, [question for question, *_ in QUESTIONS], gains)


def judged(folder: Path, most: int, questions: int) -> Set:
    """Questions drawn by lot, what answers them, and other documents up to `most`."""
    dice = random.Random(1)
    found = read(folder)
    documents = {document.id: document for document in found.documents}
    asked = dice.sample(found.questions, min(questions, len(found.questions)))
    needed = dict.fromkeys(id for query in asked for id in query.relevant)
    others = [id for id in documents if id not in needed]
    chosen = [*needed, *dice.sample(others, max(0, min(most - len(needed), len(others))))]
    entities = [
        Entity((documents[id].title or "-")[:TITLE_LIMIT], "", observations(documents[id].text)) for id in chosen
    ]
    places = {id: place for place, id in enumerate(chosen)}
    gains = [{places[id]: gain for id, gain in query.relevant.items()} for query in asked]
    return Set(entities, [query.text for query in asked], gains)


def observations(text: str) -> tuple[str, ...]:
    """The first sentences; of a function, those of its docstring."""
    docstring = re.search(r'"""(.*?)"""|\'\'\'(.*?)\'\'\'', text, re.DOTALL)
    if docstring:
        text = docstring[1] or docstring[2] or ""
    sentences = [" ".join(one.split()) for one in re.split(r"(?<=[.!?])\s+|\n\s*\n", text)]
    return tuple([one for one in sentences if len(one) > 2][:SENTENCES]) or ("-",)


# Measuring -------------------------------------------------------------------


class Vectors:
    """Of texts, each embedded once."""

    def __init__(self) -> None:
        self._embedder = LocalEmbedder()
        self._known: dict[str, np.ndarray] = {}

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        for first in range(0, len(new), 512):
            part = new[first : first + 512]
            self._known |= zip(part, self._embedder.embed(part, "passage"), strict=True)
        return np.stack([self._known[text] for text in texts])

    def similarities(self, form: Callable[[Entity], list[str]], found: Set) -> np.ndarray:
        """Cosine of each question with each entity: of what is nearest, where it has several vectors."""
        texts = [form(entity) for entity in found.entities]
        cosines = self(found.questions) @ self([text for some in texts for text in some]).T
        starts = np.cumsum([0, *(len(some) for some in texts[:-1])])
        return np.maximum.reduceat(cosines, starts, axis=1)


class Quality(NamedTuple):
    """nDCG@10, with the judgments' grades as gains, and recall@10 of each question that has an answer."""

    ndcg: np.ndarray
    recall: np.ndarray


def quality(similarities: np.ndarray, found: Set) -> Quality:
    scores, recalls = [], []
    for row, gains in zip(similarities, found.gains, strict=True):
        if gains:
            first = np.argsort(-row, kind="stable")[:K].tolist()
            best = discounted(sorted(gains.values(), reverse=True)[:K])
            scores.append(discounted([gains.get(place, 0.0) for place in first]) / best)
            recalls.append(sum(place in gains for place in first) / min(K, len(gains)))
    return Quality(np.array(scores), np.array(recalls))


def discounted(gains: Sequence[float]) -> float:
    return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, start=1))


def passed(similarities: np.ndarray, found: Set, least: Callable[[np.ndarray], float]) -> str:
    """What a rule lets through: see `CELL`."""
    right = total = nothing = wrong = 0
    for row, gains in zip(similarities, found.gains, strict=True):
        first = [place for place in np.argsort(-row, kind="stable")[:K].tolist() if row[place] >= least(row)]
        total += len(first)
        right += sum(place in gains for place in first)
        nothing += bool(gains) and not first
        wrong += 0 if gains else len(first)
    answered = sum(map(bool, found.gains))
    told = [right / (total or 1), right / sum(map(len, found.gains)), nothing / answered]
    without = len(found.gains) - answered
    return " / ".join([f"{share:.2f}" for share in told] + ([f"{wrong / without:.1f}"] if without else []))


class Remembering(LocalEmbedder):
    """Embeds each text once, whatever the store."""

    def __init__(self) -> None:
        super().__init__()
        self._known: dict[tuple[str, Role], np.ndarray] = {}

    def embed(self, texts: Sequence[str], role: Role) -> np.ndarray:
        if new := [text for text in dict.fromkeys(texts) if (text, role) not in self._known]:
            self._known |= zip([(text, role) for text in new], super().embed(new, role), strict=True)
        return np.stack([self._known[text, role] for text in texts])


def judgments(
    every: Sequence[tuple[str, ...]],
    questions: Sequence[tuple[str, ...]],
    strangers: Sequence[str],
    embedder: Remembering,
) -> Iterator[list[str]]:
    """What confidence says to questions with and without an answer, by the number of entities."""
    dice = random.Random(1)
    for size, stores in STORES.items():
        if size > len(every):
            return
        stores = 1 if size == len(every) else stores  # noqa: PLW2901  # all of them make one store
        right = denied = shown = told = 0
        for _ in range(stores):
            entities = dice.sample(every, size)
            names = {name for name, *_ in entities}
            own = {question: names.intersection(answers) for question, *answers in questions}
            own = {question: answers for question, answers in own.items() if answers}
            found = dict(answers_of(entities, [*own, *strangers], embedder))
            right += len(own)
            denied += sum(found[question]["outcome"] == NOTHING for question in own)
            told += sum(found[question]["outcome"] == NOTHING for question in strangers)
            shown += sum(
                any(one["name"] in answers for one in found[question]["entities"]) for question, answers in own.items()
            )
        asked = stores * len(strangers)
        yield [
            str(size),
            str(stores),
            f"{denied} of {right} ({denied / right:.1%})",
            f"{shown} of {right} ({shown / right:.1%})",
            f"{told} of {asked} ({told / asked:.0%})",
        ]


def answers_of(
    entities: Sequence[tuple[str, ...]], questions: Sequence[str], embedder: Remembering
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """What the engine answers to each of some questions."""
    made = [{"name": name, "entityType": type, "observations": observations} for name, type, *observations in entities]
    with TemporaryDirectory() as home:
        config = replace(Config(), home=home)
        with Engine(SqliteStore(config.database), config, embedder=embedder, lasting=False) as engine:
            graph = EntityGraph(engine)
            graph.create_entities(made)
            engine.embed()
            for question in questions:
                yield question, graph.search_entities_semantic(question)


# Telling ---------------------------------------------------------------------


def report(sets: Mapping[str, Set]) -> Iterator[str]:
    vectors = Vectors()
    found = {
        name: {form: vectors.similarities(make, one) for form, make in FORMS.items()} for name, one in sets.items()
    }
    yield f"nDCG@10 (less {ENGINE}, ± 1.96 standard errors of the paired difference) and recall@10"
    yield table(["form", *(f"{name}, {len(one.entities):,}" for name, one in sets.items())], ranked(found, sets))
    yield f"Cosines with “{SCENARIO}”, and as shares of the best"
    yield table(["form", *(entity.name for entity in SCENE)], scene(vectors))
    yield f"{MADE}, by the least cosine: {CELL}"
    yield table(["form", *(f"≥ {rule}" for rule in COSINES)], by_cosine(found[MADE], sets[MADE]))
    yield f"{ENGINE}, by the least cosine and by the least share of the best cosine: the same"
    rows = by_rule({name: some[ENGINE] for name, some in found.items()}, sets)
    yield table(["set", *(f"≥ {rule}" for rule in RULES)], rows)
    embedder, head = Remembering(), ["entities", "stores", "right answers denied", "shown", "strangers told"]
    strangers = [json.loads(line)["text"] for line in STRANGERS.read_text("utf-8").splitlines()]
    yield f"{MADE}, without a threshold: what confidence says"
    yield table(head, judgments(ENTITIES, QUESTIONS, strangers, embedder))
    yield "the second set, houses, without a threshold: what confidence says"
    yield table(head, judgments(houses.ENTITIES, houses.QUESTIONS, houses.STRANGERS, embedder))


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return "\n".join("| " + " | ".join(row) + " |" for row in (head, ["---"] * len(head), *rows))


def ranked(found: Mapping[str, Mapping[str, np.ndarray]], sets: Mapping[str, Set]) -> Iterator[list[str]]:
    usual = {name: quality(found[name][ENGINE], one) for name, one in sets.items()}
    for form in FORMS:
        cells = []
        for name, one in sets.items():
            seen = quality(found[name][form], one)
            less = seen.ndcg - usual[name].ndcg
            spread = 1.96 * less.std(ddof=1) / len(less) ** 0.5
            apart = "" if form == ENGINE else f" ({less.mean():+.3f} ± {spread:.3f})"
            cells.append(f"{seen.ndcg.mean():.3f}{apart} {seen.recall.mean():.3f}")
        yield [form, *cells]


def scene(vectors: Vectors) -> Iterator[list[str]]:
    for form, make in FORMS.items():
        (row,) = vectors.similarities(make, Set(SCENE, [SCENARIO], [{}]))
        yield [form, *(f"{cosine:.3f} ({cosine / row.max():.2f})" for cosine in row)]


def by_cosine(found: Mapping[str, np.ndarray], one: Set) -> Iterator[list[str]]:
    for form, similarities in found.items():
        yield [form, *(passed(similarities, one, lambda _, rule=rule: rule) for rule in COSINES)]


def by_rule(found: Mapping[str, np.ndarray], sets: Mapping[str, Set]) -> Iterator[list[str]]:
    for name, one in sets.items():
        cosines = found[name]
        yield [f"{name}, cosine", *(passed(cosines, one, lambda _, rule=rule: rule) for rule in RULES)]
        yield [f"{name}, share", *(passed(cosines, one, lambda row, rule=rule: rule * row.max()) for rule in RULES)]


def main() -> None:
    parser = argparse.ArgumentParser(description="Which text of an entity to embed, and what a threshold does.")
    parser.add_argument("folder", nargs="?", type=Path, help="holds judged sets")
    parser.add_argument("sets", nargs="*", default=["cosqa_dev", "cranfield"])
    parser.add_argument("--most", type=int, default=700, help="entities of a judged set")
    parser.add_argument("--questions", type=int, default=200, help="of a judged set")
    parser.add_argument("--keep", action="store_true", help="write the run to bench/runs/")
    given = parser.parse_args()
    sets = {MADE: made()}
    if given.folder:
        sets |= {name: judged(given.folder / name, given.most, given.questions) for name in given.sets}
    facts = setting()
    if given.folder:
        facts["command"] = facts["command"].replace(
            str(given.folder), "FOLDER"
        )  # what is kept names no path of a machine
    text = "\n\n".join(("\n".join(f"- {name}: {fact}" for name, fact in facts.items()), *report(sets)))
    print(text)
    if given.keep:
        folder = Path(__file__).parent / "runs" / f"{datetime.now(UTC):%Y-%m-%d}-entities"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "README.md").write_text(f"# Entities\n\n{text}\n", "utf-8")


if __name__ == "__main__":
    main()
