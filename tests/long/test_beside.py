"""A process beside learns bit by bit what is learned without it, and is in nobody's way."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from notes_made import drafts
from sound import sound
from untaught import WIDTH, fill, nothing, numbers

from memory.embed.words import coded, packed, place
from memory.search.term_vectors import ahead, beside, learn as learning
from memory.search.term_vectors.beside import Begin, Beside, Next
from memory.search.term_vectors.known import known
from memory.search.term_vectors.learn import SETTLED, learn, learn_some
from memory.search.term_vectors.pages import Vocabulary, said
from memory.search.term_vectors.step import Given
from memory.store import HEARD, Learned
from memory.store.sqlite.store import SqliteStore
from memory.text.lookup import stem
from memory.write.rules import delete_memories

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from memory.store import Store

PAGE = HEARD + 10
COUNT = SETTLED + 8 * PAGE + 40
NEVER, PATIENCE = 10**9, 60

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="a process beside is started on Linux alone")


class Seen(Beside):
    """The real one, which tells what was asked of it, and can be killed before a page."""

    every: list[Seen]
    killed_before = NEVER

    def __init__(self) -> None:
        super().__init__()
        self.pages, self.process = 0, self._process
        Seen.every.append(self)

    def learn(self, page: Next) -> None:
        self.pages += 1
        if self.pages == self.killed_before:
            self.process.kill()
        super().learn(page)


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learning, "PAGE", PAGE)
    monkeypatch.setattr(learning, "NUMBERS", PAGE * WIDTH)
    monkeypatch.setattr(beside, "START", float(PATIENCE))
    monkeypatch.setattr(os, "sched_getaffinity", lambda _process: {0, 1})
    monkeypatch.setattr(ahead, "Beside", Seen)
    monkeypatch.setattr(Seen, "every", [], raising=False)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("filled") / "memory.db"
    with closing(SqliteStore(path)) as store:
        fill(store, COUNT)
    return path


@pytest.fixture
def stores(tmp_path: Path, filled: Path) -> Iterator[tuple[SqliteStore, SqliteStore]]:
    """Two that are alike."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "memory.db").write_bytes(filled.read_bytes())
    with (
        closing(SqliteStore(tmp_path / "one" / "memory.db")) as one,
        closing(SqliteStore(tmp_path / "two" / "memory.db")) as two,
    ):
        yield one, two


def removed(store: Store, page: int) -> None:
    """A memory that was learned from, one that waits, and one of the last: after some pages."""
    if page in (6, 9):
        delete_memories(store, [page, page * PAGE + 90, COUNT - page])


def came(store: Store, page: int) -> None:
    """Notes that another connection saves."""
    if page in (6, 9):
        with closing(SqliteStore(store.path)) as other:
            fill(other, 2, first=COUNT + page)


def learned_elsewhere(store: Store, page: int) -> None:
    if page in (6, 9):
        with closing(SqliteStore(store.path)) as other:
            learn_some(other, 1, 7, None)


def changing(store: Store, then: Callable[[Store, int], None]) -> Callable[[], bool]:
    """To be called before each page, or each trial."""
    seen = []

    def going() -> bool:
        passages = (found := store.term_vectors.learned(1)) and found.passages
        if passages not in seen:  # a page that was learned from in vain does not count
            seen.append(passages)
            then(store, len(seen))
        return True

    return going


@pytest.mark.parametrize("most", [40_000, 900])
@pytest.mark.parametrize("then", [nothing, removed, came, learned_elsewhere])
def test_it_learns_bit_by_bit_the_same(
    stores: tuple[SqliteStore, SqliteStore],
    monkeypatch: pytest.MonkeyPatch,
    then: Callable[[Store, int], None],
    most: int,
) -> None:
    monkeypatch.setattr(learning, "MOST_TERMS", most)
    one, two = stores

    learned = learn(one, 1, beside=0, going=changing(one, then))
    assert learned == learn(two, 1, beside=NEVER, going=changing(two, then)) > COUNT - 30

    assert numbers(one) == numbers(two)
    assert (len(numbers(one)[-1]) > 900) == (most > 900)
    [seen] = Seen.every
    assert seen.pages > 4
    assert seen.process.returncode is not None  # nobody is left
    sound(Path(one.path))


def test_it_begins_new_words_with_the_same_word_vectors(stores: tuple[SqliteStore, SqliteStore]) -> None:
    dice = np.random.default_rng(1)
    words = {stem(word) for note in drafts(COUNT) for word in note.what.lower().split() if word.isalpha()}
    rows = {word.encode(): coded(dice.standard_normal(WIDTH).astype(np.float32)) for word in words}
    for store in stores:
        [generation] = store.generations.every()
        place(store.path, generation).write_bytes(packed(rows, len(rows), 1))
    one, two = stores

    assert learn(one, 1, beside=0) == learn(two, 1, beside=NEVER)

    assert numbers(one) == numbers(two)
    assert one.term_vectors.learned(1).prior.square > 0
    assert Seen.every[0].pages > 3


@pytest.mark.parametrize("before", [1, 3])
def test_if_it_is_killed_learning_goes_on_without_it(
    stores: tuple[SqliteStore, SqliteStore], monkeypatch: pytest.MonkeyPatch, before: int
) -> None:
    monkeypatch.setattr(Seen, "killed_before", before)
    one, two = stores

    assert learn(one, 1, beside=0) == learn(two, 1, beside=NEVER)

    assert numbers(one) == numbers(two)
    assert Seen.every[0].pages == before
    assert Seen.every[0].process.returncode == -signal.SIGKILL


def test_if_it_does_not_answer_learning_goes_on_without_it(
    stores: tuple[SqliteStore, SqliteStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = stores

    def stopped(store: Store, page: int) -> None:
        if page == 6:
            monkeypatch.setattr(beside, "PATIENCE", 0.1)
            Seen.every[0].impatient()

    monkeypatch.setattr(Seen, "impatient", impatient, raising=False)
    assert learn(one, 1, beside=0, going=changing(one, stopped)) == learn(two, 1, beside=NEVER)

    assert numbers(one) == numbers(two)
    assert Seen.every[0].process.returncode == -signal.SIGKILL


def impatient(seen: Seen) -> None:
    os.kill(seen.process.pid, signal.SIGSTOP)
    seen._line.settimeout(0.1)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("sys.executable", "/nowhere/python3"),
        ("sys.executable", "/bin/false"),
        ("sys.executable", ""),
        ("sys.path", ["/nowhere"]),
        ("os.sched_getaffinity", lambda _process: {0}),
        ("memory.search.term_vectors.beside._READY", b"else"),  # another version was installed meanwhile
    ],
)
def test_where_it_cannot_be_started_nothing_else_happens(
    stores: tuple[SqliteStore, SqliteStore], monkeypatch: pytest.MonkeyPatch, name: str, value: object
) -> None:
    one, two = stores
    expected = learn(two, 1, beside=NEVER)
    monkeypatch.setattr(name, value)

    assert learn(one, 1, beside=0) == expected

    assert numbers(one) == numbers(two)
    assert all(seen.pages == 0 and seen.process.returncode is not None for seen in Seen.every)


def test_few_passages_are_learned_from_here(stores: tuple[SqliteStore, SqliteStore]) -> None:
    assert learn(stores[0], 1, beside=COUNT) == COUNT
    assert not Seen.every


def test_who_interrupts_finds_nobody_left_and_goes_on_later(stores: tuple[SqliteStore, SqliteStore]) -> None:
    one, two = stores

    def interrupted(_store: Store, page: int) -> None:
        if page == 6:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        learn(one, 1, beside=0, going=changing(one, interrupted))
    assert Seen.every[0].process.returncode is not None
    assert Seen.every[0].pages > 1

    assert learn(one, 1, beside=NEVER) > 0
    learn(two, 1, beside=NEVER)
    assert numbers(one)[0][0] == numbers(two)[0][0] == COUNT
    sound(Path(one.path))


def test_a_full_vocabulary_is_said_before_anything_is_learned(monkeypatch: pytest.MonkeyPatch) -> None:
    spread = np.zeros(4)
    learned = Learned(SETTLED, 0.0, spread, np.eye(4, dtype=np.float32))
    rows = beside._Rows(Begin(known([], 4, Vocabulary()), learned, ["ant", "bee"], 100))
    page = Next(Given(said([]), np.zeros((0, 4), np.float32), np.zeros(0, np.int64), 3), None)
    assert rows.learn(page).made.learned.passages == SETTLED + 3

    monkeypatch.setattr("memory.search.term_vectors.pages.REMEMBERED", 1)

    assert rows.learn(page) is None


def test_with_a_full_vocabulary_it_begins_anew(
    stores: tuple[SqliteStore, SqliteStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Full(Seen):
        def taught(self):
            taught = super().taught()
            return None if self.pages == 3 else taught

    monkeypatch.setattr(ahead, "Beside", Full)
    one, two = stores

    assert learn(one, 1, beside=0) == learn(two, 1, beside=NEVER)

    assert Seen.every[0].pages > 4
    assert numbers(one)[-1].keys() == numbers(two)[-1].keys()
    sound(Path(one.path))


PROGRAM = f"""
import os, sys
from memory.search.term_vectors import ahead, beside, learn as learning
from memory.store.sqlite.store import SqliteStore

learning.PAGE, learning.NUMBERS, beside.START = {PAGE}, {PAGE * WIDTH}, {float(PATIENCE)}
os.sched_getaffinity = lambda _process: {{0, 1}}

class Seen(beside.Beside):
    def __init__(self):
        super().__init__()
        print(self._process.pid, flush=True)

    def learn(self, page):
        super().learn(page)
        if sys.argv[2:] == ["ask"]:
            print(sys.stdin.readline(), end="", flush=True)

ahead.Beside = Seen
print(learning.learn(SqliteStore(sys.argv[1]), 1, beside=0), flush=True)
print(sys.stdin.read(), end="", flush=True)
"""


def program(store: Store, *arguments: str) -> subprocess.Popen[str]:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen([sys.executable, "-c", PROGRAM, store.path, *arguments], text=True, **pipes)


def test_standard_streams_are_those_of_the_program(stores: tuple[SqliteStore, SqliteStore]) -> None:
    child = program(stores[0])

    out, err = child.communicate("all of it\n", timeout=PATIENCE)

    assert out.splitlines()[1:] == [str(COUNT), "all of it"]
    assert err == ""


def test_it_ends_with_the_process_that_started_it(stores: tuple[SqliteStore, SqliteStore]) -> None:
    with program(stores[0], "ask") as child:
        number = int(child.stdout.readline())
        ended = os.pidfd_open(number)
        child.stdin.write("on\n")  # it has a page, and waits for the next one
        child.stdin.flush()
        assert child.stdout.readline() == "on\n"

        child.kill()

        assert select.select([ended], [], [], PATIENCE)[0]
        os.close(ended)


def test_it_ends_with_it_also_where_a_fork_holds_its_line(
    stores: tuple[SqliteStore, SqliteStore], tmp_path: Path
) -> None:
    fork = PROGRAM.replace(
        "        print(self._process.pid", "        os.fork() or signal.pause()\n        print(self._process.pid"
    )
    arguments = [sys.executable, "-c", "import signal" + fork, stores[0].path, "ask"]
    with subprocess.Popen(
        arguments, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    ) as child:
        try:
            ended = os.pidfd_open(int(child.stdout.readline()))
            child.kill()

            assert select.select([ended], [], [], PATIENCE)[0]
            os.close(ended)
        finally:
            os.killpg(child.pid, signal.SIGKILL)
