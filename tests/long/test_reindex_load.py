"""
A reindex under load: two readers and two writers go on while the width goes 384 → 768 → 384 and the reindex is killed.

Each time, one batch is made for the new model before config.yaml names it: from then on the former and the new
settings are both answered, until the new generation is complete. Who still has the former settings after that is
refused with `SpaceMismatch`, as documented: such a reader opens anew, once. Readers may see no other error, ever.

Of each kind of process one opens the engine anew every now and then, and the other keeps it open as long as it can.
What the readers heard is compared with vectors that the test makes itself, after all is over.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import threading
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import apsw
import numpy as np
import pytest
from provider import Provider
from sound import sound

from memory import Config, Draft, Engine, Mode
from memory.config.settings import EmbeddingSettings
from memory.schema.space import Space, recipe
from memory.store import State
from memory.store.narrow import numbers_in, rounded, widened
from memory.vectors.models import profile
from memory.vectors.providers.inside import HashedEmbedder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

BATCH = 4
LEASH = 4  # batches that a run makes before it waits to be killed, so that it cannot finish too soon on any machine
LAST = 2  # kills of a reindex that come with its last batch
PATIENCE = 60  # seconds after which a process that says nothing is taken to hang
FOREVER = 10**9

PRELUDE = """
import json, select, sys
from itertools import cycle
from memory import Draft, Engine, Mode, Query
from memory.config import load
from memory.schema.errors import SpaceMismatch

def said(*words):
    print(json.dumps(words), flush=True)

def hung_up(pause):
    return bool(select.select([sys.stdin], [], [], pause)[0])
"""

READING = """
asked, searches = cycle(enumerate(json.loads(sys.argv[1]))), int(sys.argv[2])

def answered(engine, number, text, mode):
    try:
        answer = engine.search(Query(text, mode=Mode(mode)))
        refusal = next((notice.text for notice in answer.notices if notice.text.startswith("without the model: ")), "")
    except SpaceMismatch as error:
        refusal = str(error)
    if refusal:
        said("refused", engine.config.embedding.model, load().embedding.model, refusal)
        return False
    spaces = [step.note for step in answer.steps if step.name == "embed"]  # several, if it had to begin anew
    hits = [(hit.memory.title, hit.memory.what, hit.cosine) for hit in answer.hits]
    said("answered", engine.config.embedding.model, number, answer.tier, spaces[-1] if spaces else "", hits)
    return True

while True:
    with Engine.open(load()) as engine:
        for _ in range(searches):
            if hung_up(0.005):
                sys.exit()
            if not answered(engine, *(lambda number, question: (number, *question))(*next(asked))):
                break
"""

WRITING = """
name, saves, number = sys.argv[1], int(sys.argv[2]), 0
while True:
    with Engine.open(load()) as engine:
        for _ in range(saves):
            if hung_up(0.1):  # few notes a second: a slow machine need not embed more than a quick one, or hardly
                sys.exit()
            number += 1
            said(engine.save(Draft(title=f"{name} {number}", what=f"alpha {number * 7919}")).memory.uid)
"""

REINDEXING = """
batches = int(sys.argv[1])

def progress(done, total):
    global batches
    batches -= 1
    said(done, total)
    if not batches:
        sys.stdin.read()

with Engine.open(load()) as engine:
    said("begun")
    engine.reindex(progress)
    said("done")
"""


class Variant(NamedTuple):
    """
    Attributes:
        models: Three, one after the other.
        seeds: Notes that are there from the beginning.
        kills: Of each of the two reindexes, with the first batch, anywhere, and `LAST` with the last batch.
    """

    settings: EmbeddingSettings
    models: tuple[str, str, str]
    seeds: int
    kills: int
    embed: Callable[[str, str], list[float]]  # model, text

    def space(self, model: str) -> str:
        """As an answer names it."""
        prefix = profile(model).passage_prefix
        return str(Space(self.settings.provider, model, recipe(prefix), len(self.embed(model, "x"))))

    def passage(self, model: str, title: str, what: str) -> np.ndarray:
        return _vector(self.embed, model, profile(model).passage_prefix + _text(title, what))

    def query(self, model: str, text: str) -> np.ndarray:
        return _vector(self.embed, model, profile(model).query_prefix + text)


@lru_cache(maxsize=50_000)
def _vector(embed: Callable[[str, str], list[float]], model: str, text: str) -> np.ndarray:
    return np.array(embed(model, text), np.float32)


def _text(title: str, what: str) -> str:
    """What is embedded for a note that says no more."""
    return f"{title}\n{what}"


class Question(NamedTuple):
    text: str
    mode: str
    seed: str = ""  # the title of the note that it is an exact copy of


class Answered(NamedTuple):
    """What a reader said of one search."""

    configured: str
    number: int  # of the question
    tier: str
    space: str
    hits: list[tuple[str, str, float | None]]


class Talker:
    """A process that says lines of JSON; a thread hears them, so that it never has to wait for the test."""

    def __init__(self, home: Path, program: str, *arguments: object, **environment: str) -> None:
        self.lines: list[list] = []
        self._over = False
        self._news = threading.Condition()
        self.process = subprocess.Popen(
            [sys.executable, "-c", PRELUDE + program, *map(str, arguments)],
            env={"PATH": os.environ["PATH"], "HOME": str(home), "MEMORY_HOME": str(home)} | environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._thread = threading.Thread(target=self._hear)
        self._thread.start()

    def _hear(self) -> None:
        for line in self.process.stdout:
            if line.endswith("\n"):  # else it was killed within it
                with self._news:
                    self.lines.append(json.loads(line))
                    self._news.notify_all()
        with self._news:
            self._over = True
            self._news.notify_all()

    def until(self, enough: Callable[[list[list]], bool], since: int = 0) -> bool:
        """Wait until the lines from one on are enough; whether they are, for it may have ended."""
        with self._news:
            while not (self._over or enough(self.lines[since:])):
                assert self._news.wait(PATIENCE), self.lines[-1:]
            return enough(self.lines[since:])

    def kill(self, delay: float) -> None:
        """With signal 9, after so many seconds."""
        try:
            self.process.wait(delay)
        except subprocess.TimeoutExpired:
            self.end()

    def hang_up(self) -> None:
        """Let it finish what it does."""
        self.process.stdin.close()
        assert self.process.wait(PATIENCE) == 0
        self._thread.join()

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        self._thread.join()
        self.process.stdin.close()
        self.process.stdout.close()


class Load:
    """Two readers and two writers on one store, and a reindex in their midst."""

    def __init__(self, home: Path, variant: Variant, questions: list[Question], ends: ExitStack) -> None:
        self.home, self.variant, self.ends = home, variant, ends
        self.dice, self.kills = random.Random(5), 0
        asked = json.dumps([question[:2] for question in questions])
        self.readers = [self._talker(READING, asked, 7), self._talker(READING, asked, FOREVER)]
        self.writers = [self._talker(WRITING, "passing", 5), self._talker(WRITING, "staying", FOREVER)]
        for talker in self.readers + self.writers:
            assert talker.until(bool)

    def reindex(self, former: str, model: str) -> None:
        """One batch by the environment, then by config.yaml until it is done, with as many kills as there are to be."""
        before = [len(reader.lines) for reader in self.readers]
        self._struck(1, lambda lines: len(lines) == 2, MEMORY_EMBEDDING_MODEL=model)  # "begun", a batch
        _configure(self.home, replace(self.variant.settings, model=model))
        passing = self.readers[0]
        waiting = (model, self.variant.space(former))
        assert passing.until(lambda lines: any(_pair(line) == waiting for line in lines), before[0])
        filled = self._look(former, model, 1)
        for number in range(self.variant.kills):
            if number < self.variant.kills - LAST:
                heard = self.dice.randint(1, LEASH + 1)
                self._struck(LEASH, lambda lines, heard=heard: len(lines) >= heard)
            else:
                self._struck(FOREVER, lambda lines: any(_all(*line) for line in lines))
            filled = self._look(former, model, filled)
        last = self._talker(REINDEXING, FOREVER)
        assert last.until(lambda lines: ["done"] in lines), last.lines
        last.hang_up()
        for reader in self.readers:
            space = self.variant.space(model)
            assert reader.until(lambda lines, space=space: any(space in line for line in lines), len(reader.lines))

    def _talker(self, program: str, *arguments: object, **environment: str) -> Talker:
        talker = Talker(self.home, program, *arguments, **environment)
        self.ends.callback(talker.end)
        return talker

    def _struck(self, leash: int, enough: Callable[[list[list]], bool], **environment: str) -> None:
        """Begin to reindex, and kill it a moment after it has said enough."""
        child = self._talker(REINDEXING, leash, **environment)
        assert child.until(enough), child.lines
        child.kill(self.dice.uniform(0, 0.01))
        self.kills += child.process.returncode != 0

    def _look(self, former: str, model: str, before: int) -> int:
        """The file is sound, who answers has all that was there before, and no batch was lost; how many are done."""
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / "copy.db"
            _copy(self.home / "memory.db", copy)
            sound(copy)
            with closing(apsw.Connection(str(copy))) as db:
                found = {state: (name, vectors) for name, state, vectors in db.execute(_GENERATIONS)}
        name, vectors = found[State.ACTIVE]
        assert name in {former, model}
        assert vectors >= self.variant.seeds
        if name == former:
            assert found[State.BUILDING][0] == model
            assert found[State.BUILDING][1] >= before
            return found[State.BUILDING][1]
        return before


_GENERATIONS = "select model, state, vectors from generations"


def _all(done: int | str, total: int | None = None) -> bool:
    """Whether this line of a reindex says that it made its last batch, or was done with all."""
    return done in {total, "done"}


def _pair(line: list) -> tuple[str, str]:
    """Of a reader's line the configured model, and the space that answered or the refusal."""
    return line[1], line[4] if line[0] == "answered" else line[3]


def _copy(source: Path, target: Path) -> None:
    """One moment of a file that others write to."""
    with closing(apsw.Connection(str(source))) as old, closing(apsw.Connection(str(target))) as new:
        old.set_busy_timeout(30_000)
        with new.backup("main", old, "main") as backup:
            backup.step(-1)


def _configure(home: Path, settings: EmbeddingSettings) -> None:
    """Write config.yaml, all at once: nobody reads half of it."""
    text = f"""
        embedding:
          provider: {settings.provider}
          model: {settings.model}
          base_url: "{settings.base_url}"
          batch_size: {BATCH}
    """
    (home / "config.new").write_text(text)
    (home / "config.new").replace(home / "config.yaml")


def _engine(home: Path, variant: Variant, model: str) -> Engine:
    return Engine.open(replace(Config(), home=str(home), embedding=replace(variant.settings, model=model)))


def _notes(dice: random.Random, name: str, count: int) -> list[Draft]:
    """Notes that share a word and have three of their own."""
    words = [f"{first}{second}" for first in ("ber", "cal", "dor", "fen") for second in ("lin", "mot", "tas", "rug")]
    return [
        Draft(title=f"{name} {n}", what=f"alpha {' '.join(dice.sample(words, 2))} {dice.randrange(10**6)}")
        for n in range(count)
    ]


def _questions(dice: random.Random, seeds: list[Draft]) -> list[Question]:
    copies = [Question(_text(note.title, note.what), Mode.VECTOR, note.title) for note in dice.sample(seeds, 20)]
    others = [
        Question("alpha", Mode.HYBRID),
        Question("zephyr quibbles", Mode.VECTOR),
        Question("walnut jukebox", Mode.TIERED),
    ]
    return [question for copy in copies for question in (copy, *others)]


def _heard(reader: Talker) -> Iterator[Answered]:
    return (Answered(*line[1:]) for line in reader.lines if line[0] == "answered")


def _right(variant: Variant, spaces: dict[str, str], question: Question, answer: Answered) -> None:
    """An answer is not empty, went as far as was asked, and every cosine is one of the space that it names."""
    assert answer.tier == ("vector" if question.mode == Mode.VECTOR else "hybrid"), answer
    assert answer.hits, answer
    assert question.seed in {"", answer.hits[0][0]}, answer
    model = spaces[answer.space]
    asked = variant.query(model, question.text)
    for title, what, cosine in answer.hits:
        if cosine is None:  # found by its words, saved a moment ago
            assert question.mode != Mode.VECTOR, answer
            assert not title.startswith("seed "), answer
        else:
            assert cosine == pytest.approx(float(asked @ variant.passage(model, title, what)), abs=1e-4), (
                title,
                answer,
            )


def _pure(path: Path, variant: Variant) -> None:
    """Every vector that is stored, in whichever generation, is what its model makes of its passage."""
    with closing(apsw.Connection(str(path))) as db:
        for id, model in db.execute("select id, model from generations").fetchall():
            rows = db.execute(
                f"""select m.title, m.what, v.embedding from vectors_{id} v
                    join chunks c on c.id = v.chunk_id join memories m on m.id = c.memory_id"""
            )
            for title, what, blob in rows:
                vector = widened(blob, numbers_in(len(blob)))[0]
                assert np.abs(vector - rounded(variant.passage(model, title, what))).max() < 1e-5, (model, title)


@pytest.fixture(params=["hashed", "ollama"])
def variant(request: pytest.FixtureRequest) -> Iterator[Variant]:
    """Hashed: the first generation is revived. Ollama: it gives way to another of the same width."""
    if request.param == "hashed":
        embedders = {model: HashedEmbedder(int(model[-3:])) for model in ("hashed-384", "hashed-768")}
        settings = EmbeddingSettings(provider="hashed", batch_size=BATCH)
        models = ("hashed-384", "hashed-768", "hashed-384")
        yield Variant(
            settings, models, 300, 9, lambda model, text: embedders[model].embed([text], "passage")[0].tolist()
        )
        return
    models = ("all-minilm", "nomic-embed-text", "snowflake-arctic-embed")
    with Provider(dict(zip(models, (384, 768, 384), strict=True))) as provider:
        settings = EmbeddingSettings(provider="ollama", base_url=provider.url, batch_size=BATCH)
        yield Variant(settings, models, 120, 5, lambda model, text: provider.vectors(model, [text])[0])


def test_a_killed_reindex_under_load_never_shows(variant: Variant, tmp_path: Path) -> None:
    dice, first, second, third = random.Random(4), *variant.models
    seeds, crowd = _notes(dice, "seed", variant.seeds), _notes(dice, "crowd", 150)
    questions = _questions(dice, seeds)
    _configure(tmp_path, replace(variant.settings, model=first))
    with _engine(tmp_path, variant, first) as engine:
        kept = engine.save_all(seeds)
        engine.embed()

    with ExitStack() as ends:
        load = Load(tmp_path, variant, questions, ends)
        load.reindex(first, second)
        with _engine(tmp_path, variant, second) as engine:  # so that there is work also where vectors are revived
            kept += engine.save_all(crowd)
        load.reindex(second, third)
        for talker in load.readers + load.writers:
            talker.hang_up()

    with _engine(tmp_path, variant, third) as engine:
        engine.reindex()
        engine.embed()
        uids = {found.memory.uid for found in engine.maintenance.exported()}
        status = engine.status()
    acknowledged = {uid for writer in load.writers for (uid,) in writer.lines}
    assert uids == acknowledged | {one.memory.uid for one in kept}
    active = next((found.space.model, filled) for found, filled in status.generations if found.state is State.ACTIVE)
    assert active == (third, len(uids))
    sound(tmp_path / "memory.db")
    _pure(tmp_path / "memory.db", variant)
    assert load.kills >= 2 * (variant.kills + 1 - LAST)
    _readers_saw_nothing(variant, questions, load.readers)


def _readers_saw_nothing(variant: Variant, questions: list[Question], readers: list[Talker]) -> None:
    """All three generations in turn, each right; and a refusal only of settings that have passed, once each."""
    spaces = {variant.space(model): model for model in variant.models}
    for reader in readers:
        for answer in _heard(reader):
            _right(variant, spaces, questions[answer.number], answer)
        in_turn = [space for space, _ in groupby(answer.space for answer in _heard(reader))]
        assert in_turn == [variant.space(model) for model in variant.models]
        refusals = [line[1:] for line in reader.lines if line[0] == "refused"]
        assert len(refusals) <= 2, refusals
        for configured, named, why in refusals:
            assert configured != named, why
            assert (
                why.removeprefix("keywords only: ")
                .removeprefix("without the model: ")
                .startswith("the stored vectors are in ")
            ), why
