"""Strangers are embedded and compared by whoever has the time: killed, at once, beside others that save."""

from __future__ import annotations

import signal
import subprocess
import sys
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import apsw
import pytest
from asking import config
from notes_made import drafts
from provider import Provider
from sound import sound

from memory import Config, Draft, Engine, Mode, Query
from memory.schema.answer import Outcome, Tier
from memory.store.sqlite import SqliteStore
from memory.vectors.baseline import ANSWERS, STAMP, STRANGERS
from memory.vectors.providers.inside import HashedEmbedder

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from memory.schema.space import Strangers, Vectors
    from memory.vectors import Role

SUPPORT = Path(__file__).parents[1] / "support"
TEXTS = len(STRANGERS) + len(ANSWERS)
LAZY = replace(Config(), embedding=replace(Config().embedding, fill="lazy"))
MANY = 40

PRELUDE = f"""
import sys
sys.path.insert(0, {str(SUPPORT)!r})
from pathlib import Path
from memory import Config, Engine
from memory.vectors.providers.inside import HashedEmbedder
from memory.vectors.baseline import STRANGERS
from memory.store import strangers
from memory.store.sqlite import SqliteStore

def said(word):
    print(word, flush=True)
    sys.stdin.readline()

class Telling(HashedEmbedder):
    def embed(self, texts, role):
        if STRANGERS[0] in texts:
            said("embedding")
        return super().embed(texts, role)

strangers.BLOCK = 10
compared = strangers.compared

def telling(*all):
    said("comparing")
    return compared(*all)

strangers.compared = telling
"""

EMBED = f"""{PRELUDE}
with Engine(SqliteStore(sys.argv[1]), Config(), embedder=Telling(64), lasting=False) as engine:
    engine.embed()
print("done", flush=True)
"""


class Counted(HashedEmbedder):
    """
    Attributes:
        strange: How many texts of strangers and their answers it was asked for.
    """

    def __init__(self) -> None:
        super().__init__(64)
        self.strange = 0

    def embed(self, texts: Sequence[str], role: Role) -> Vectors:
        self.strange += sum(text in STRANGERS or text in ANSWERS.values() for text in texts)
        return super().embed(texts, role)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A store of memories that have vectors, and no strangers yet."""
    path = tmp_path / "memory.db"
    with Engine(SqliteStore(path), LAZY, embedder=HashedEmbedder(64), lasting=False) as engine:
        engine.save_all(drafts(MANY))
        engine.search(Query("anything", mode=Mode.HYBRID))
        assert engine.status().counts.queued == 0
    return path


@contextmanager
def begun(path: Path, until: Sequence[str] = ()) -> Iterator[subprocess.Popen[str]]:
    """A process that embeds strangers, and waits after each step: `until` names those it has gone through."""
    with subprocess.Popen(
        [sys.executable, "-c", EMBED, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        try:
            for number, word in enumerate(until):
                if number:
                    step(child)
                assert child.stdout.readline() == f"{word}\n"
            yield child
        finally:
            child.kill()


def step(child: subprocess.Popen[str]) -> None:
    child.stdin.write("\n")
    child.stdin.flush()


def to_its_end(child: subprocess.Popen[str]) -> list[str]:
    found, _ = child.communicate("\n" * 100, timeout=120)
    return found.splitlines()


def known(path: Path) -> Strangers | None:
    with closing(SqliteStore(path)) as store:
        return store.generations.every()[0].strangers


def true(path: Path) -> Strangers | None:
    """As they are after all vectors were compared again."""
    with closing(SqliteStore(path)) as store:
        store.vectors.set_strangers(1, None)
    return known(path)


@pytest.mark.parametrize(
    ("steps", "paid"),
    [
        (["embedding"], TEXTS),
        (["embedding", "comparing"], 0),
        (["embedding", "comparing", "comparing", "comparing"], 0),
    ],
)
def test_after_kill_9_no_part_of_them_answers_and_the_next_start_goes_on(path, steps, paid) -> None:
    with begun(path, steps) as child:
        child.kill()
        child.wait()
    assert child.returncode == -signal.SIGKILL
    sound(path)
    assert known(path) is None
    embedder = Counted()

    with Engine(SqliteStore(path), LAZY, embedder=embedder, lasting=False) as engine:
        judged = engine.search(Query("what nobody said", mode=Mode.HYBRID))
        assert engine.status().counts.memories == MANY
        assert "stranger" not in judged.worth
        engine.save(Draft(title="one more"))
        engine.embed()

    assert embedder.strange == paid
    assert known(path).nearest == pytest.approx(true(path).nearest, abs=1e-6)
    assert (known(path).stamp, len(known(path).nearest)) == (STAMP, len(STRANGERS))


def test_processes_that_embed_them_at_once_end_with_one_result(path: Path) -> None:
    with begun(path, ["embedding"]) as first, begun(path, ["embedding"]) as second:
        told = [to_its_end(child) for child in (first, second)]

        assert (first.returncode, second.returncode) == (0, 0)
    assert [lines[-1] for lines in told] == ["done", "done"]
    assert "comparing" not in told[1]  # they were there by then
    with closing(apsw.Connection(str(path))) as db:
        assert db.execute("select count(*) from strangers").get == 1
    assert known(path).nearest == pytest.approx(true(path).nearest, abs=1e-6)
    sound(path)


def test_processes_that_compare_them_at_once_end_with_one_result(path: Path) -> None:
    with begun(path, ["embedding", "comparing"]) as first, begun(path, ["comparing"]) as second:
        step(second)
        assert to_its_end(first)[-1] == to_its_end(second)[-1] == "done"

    assert known(path).nearest == pytest.approx(true(path).nearest, abs=1e-6)
    sound(path)


def test_nobody_waits_for_the_lock_while_all_vectors_are_compared(path: Path) -> None:
    with begun(path, ["embedding", "comparing", "comparing"]) as child:
        with closing(SqliteStore(path, busy_seconds=0)) as store:
            embedder = HashedEmbedder(64)
            with Engine(store, Config(), embedder=embedder, lasting=False) as engine:
                same = engine.save(Draft(title=STRANGERS[0], what=STRANGERS[1]))
                assert store.generations.every()[0].strangers is None
        assert not same.notices
        assert to_its_end(child)[-1] == "done"

    assert known(path).nearest == pytest.approx(true(path).nearest, abs=1e-6)
    assert known(path).nearest[0] > 0.5


FORKING = """
import os, signal, sys
from memory import Config, Draft, Engine
from memory.vectors.providers.inside import HashedEmbedder
from memory.vectors import baseline as strangers
with strangers._AT_ONCE:  # as a thread of the parent holds it
    child = os.fork()
    if not child:
        signal.alarm(60)
        engine = Engine.open(home=sys.argv[1], embedder=HashedEmbedder(64), lasting=False)
        engine.save(Draft(title="Pool", what="The pool has 40 connections"))
        engine.embed()
        os._exit(0 if engine.store.generations.active().strangers else 1)
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_a_child_forked_while_they_are_embedded_embeds_its_own(tmp_path: Path) -> None:
    assert subprocess.run([sys.executable, "-c", FORKING, str(tmp_path)], check=False).returncode == 0


@pytest.mark.parametrize("count", [1, 2, 9])
def test_a_store_of_few_has_them_from_the_first_vector_on(tmp_path: Path, count: int) -> None:
    embedder = Counted()
    with Engine(SqliteStore(tmp_path / "memory.db"), LAZY, embedder=embedder, lasting=False) as engine:
        engine.save_all(drafts(count))
        engine.embed()

        found = engine.store.generations.active().strangers
        assert found is not None
        assert embedder.strange == TEXTS
        title = drafts(1)[0].title
        right = engine.search(Query(title, mode=Mode.HYBRID))
        assert right.hits[0].memory.title == title
        assert right.outcome is Outcome.ANSWERED
        assert engine.search(Query("what nobody said", mode=Mode.HYBRID)).outcome is not Outcome.DEGRADED


def test_a_server_whose_budget_is_spent_refuses_and_search_goes_on_without_them(tmp_path: Path) -> None:
    with Provider() as provider:
        settings, asked = config("ollama", provider, fill="lazy"), Query(drafts(1)[0].title, mode=Mode.HYBRID)
        with Engine(SqliteStore(tmp_path / "memory.db"), settings, lasting=False) as engine:
            engine.save_all(drafts(MANY))
            engine.search(asked)
            used = sum(call.tokens for call in engine.vectors.ledger())
        budget = replace(settings.embedding, daily_budget=f"{used + 100} tokens")  # for a question, and not for 97
        with Engine(SqliteStore(tmp_path / "memory.db"), replace(settings, embedding=budget), lasting=False) as engine:
            assert engine.embed().left == 0

            answer = engine.search(asked)

            assert engine.store.generations.active().strangers is None
            assert answer.hits[0].memory.title == drafts(1)[0].title
            assert (answer.tier, answer.outcome) == (Tier.HYBRID, Outcome.ANSWERED)
            ledger = engine.vectors.ledger(each=True)
            assert len(ledger) == len(provider.seen)
            assert sum(call.texts for call in ledger) == sum(len(one.body["input"]) for one in provider.seen)
            assert not any(text in str(one.body["input"]) for one in provider.seen for text in ANSWERS.values())
