"""Several machines on one database, each with caches of its own: nobody's work is lost, and nobody answers from a stale copy."""

from __future__ import annotations

import json
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from subprocess import PIPE
from typing import TYPE_CHECKING, Any

import postgres
import psycopg
import pytest
from command import Shell
from killing import python
from sound import sound

from memory import Config, Draft, Engine
from memory.engine.move import Move
from memory.schema.memory import Standing
from memory.schema.query import EVERYTHING
from memory.store import State
from memory.store.postgres import PostgresStore
from memory.store.postgres.opening import FORMAT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


pytestmark = pytest.mark.skipif(not postgres.URL, reason="MEMORY_TEST_POSTGRES names no server: make test-postgres")

GUARD = 120  # seconds against hanging

MACHINE = """
import json, random, threading
from dataclasses import replace
from memory import Mode, Query
from memory.schema.errors import Invalid, NotFound, SpaceMismatch, StoreBusy

url, name, steps, changed, taken = json.loads(sys.argv[1])
dice, config = random.Random(name), load(flags={"store.url": url})
own, gone, count = {}, [], 0  # what each says, by uid

def opened(model):  # with small batches, so that others come between
    return Engine.open(replace(config, embedding=replace(config.embedding, model=model, batch_size=8)))

def tell(*words):
    print(json.dumps(words), flush=True)

def new():
    global count
    count += 1
    return Draft(title=f"{name} {count}", what=f"{dice.choice(WORDS)} {dice.choice(WORDS)} {name}{count}")

def kept(memory):
    own[memory.uid] = memory.what
    tell("kept", memory.uid, memory.what)

def some():
    return dice.choice(list(own))

def save(engine):
    kept(engine.save(new()).memory)

def save_several(engine):
    for saved in engine.save_all([new() for _ in range(3)]):
        kept(saved.memory)

def save_known(engine):
    number = dice.randrange(5)
    memory = engine.save(Draft(title=f"known {number}", what=f"alpha {number}")).memory
    tell("kept", memory.uid, memory.what)

def supersede(engine):
    old = some()
    memory = engine.save(new(), supersedes=old).memory
    tell("kept", memory.uid, memory.what)  # and never deleted: the old one would hold again
    tell("superseded", old, own.pop(old))

def update(engine):
    kept(engine.update(some(), what=new().what).memory)

def add(engine):
    more = new().what.split()[-1]
    uid = dice.choice(changed)
    engine.documents.revise(engine.documents.resolve(uid), lambda former: {"what": f"{former.memory.what} {more}"})
    tell("added", uid, more)

def take(engine):
    uid = dice.choice(taken)
    try:
        engine.delete(uid)
    except NotFound:
        return  # another was quicker
    tell("took", uid)

def delete(engine):
    uid = some()
    engine.delete(uid)
    del own[uid]
    gone.append(uid)
    tell("gone", uid)

def restore(engine):
    if gone:
        [memory], _ = engine.trash.restore([gone.pop(dice.randrange(len(gone)))])
        kept(memory)

def search(engine):
    mode = dice.choice(list(Mode))
    uids = {hit.memory.uid: hit.memory for hit in engine.search(Query(dice.choice(WORDS), 1000, mode=mode)).hits}
    assert uids or not own, mode
    assert uids.keys().isdisjoint(gone), (mode, gone)
    assert all(uids[uid].what == own[uid] for uid in own if uid in uids), mode

def find_own(engine):
    uid = some()
    found = engine.search(Query(own[uid].split()[-1], mode=dice.choice([Mode.KEYWORD, Mode.TIERED, Mode.HYBRID])))
    assert uid in [hit.memory.uid for hit in found.hits], own[uid]

def embed(engine):
    engine.embed()

def reindex(engine):
    engine.reindex()

def roll_back(engine):
    try:
        engine.roll_back()
    except NotFound:
        pass  # none is kept

WORDS = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "theta")
STEPS = {
    save: 6, save_several: 2, save_known: 2, supersede: 2, update: 3, add: 3, take: 2, delete: 3, restore: 2,
    search: 8, find_own: 4, embed: 1, reindex: 2, roll_back: 0.5,
}
ASKED = ("alpha", "beta gamma", "what of zeta", "bet* theta", '"alpha seed"')

def hits(answer):
    return [[hit.memory.uid, hit.memory.what, hit.score] for hit in answer.hits]

def answered(engine, text, mode):
    try:
        answer = engine.search(Query(text, 1000, mode=mode))
    except SpaceMismatch:
        return "mismatch"
    return [answer.tier, sorted(hits(answer))]

engines = [opened(model) for model in ("hashed-32", "hashed-48", "hashed-64")]
tell("ready")
sys.stdin.readline()
for number in range(steps):
    step = dice.choices(list(STEPS), list(STEPS.values()))[0]
    if number < steps // 4:
        step = add  # all at once
    elif not own:
        step = save
    try:
        step(dice.choice(engines))
    except (StoreBusy, SpaceMismatch) as error:
        tell("refused", step.__name__, type(error).__name__)
for thread in threading.enumerate():
    if thread.name == "memory-fill":
        thread.join()
tell("done")
sys.stdin.readline()
tell("answers", [answered(engine, text, mode) for engine in engines for text in ASKED for mode in Mode])
for engine in engines:
    engine.close()
"""


class Machine:
    """A process, what it was told, and what it answers at the end."""

    def __init__(self, home: Path, program: str, *arguments: object) -> None:
        home.mkdir(parents=True)
        self.process = python(Shell(home, home), program, json.dumps(arguments), stdin=PIPE, stderr=PIPE)
        self.told: list[list[Any]] = []
        self._guard = threading.Timer(GUARD, self.process.kill)
        self._guard.start()

    def until(self, word: str) -> list[Any]:
        """The line that begins with a word; what was said before is what it was told."""
        for line in self.process.stdout:
            if (said := json.loads(line))[0] == word:
                return said
            self.told.append(said)
        raise AssertionError(self.process.stderr.read())

    def go(self) -> None:
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def end(self) -> None:
        self._guard.cancel()
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            pipe.close()


@contextmanager
def machines(home: Path, program: str, arguments: list[tuple[object, ...]]) -> Iterator[list[Machine]]:
    """Processes that begin together."""
    with ExitStack() as stack:
        started = []
        for number, own in enumerate(arguments):
            started.append(Machine(home / f"{number}", program, *own))
            stack.callback(started[-1].end)
        for one in started:
            one.until("ready")
        for one in started:
            one.go()
        yield started


def config(place: str, model: str = "hashed-32") -> Config:
    base = Config()
    embedding = replace(base.embedding, provider="hashed", model=model)
    return replace(base, embedding=replace(embedding, words="never"), **_at(place))


def _at(place: str) -> dict[str, Any]:
    return {"store": replace(Config().store, url=place)} if "://" in place else {"home": place}


def quiet(_done: int, _total: int) -> None:
    pass


def active(store: PostgresStore) -> int:
    """The dimension of the vectors that answer."""
    return next(one.space.dimension for one in store.generations.every() if one.state is State.ACTIVE)


def kept_once(store: PostgresStore, machines: list[Machine], changed: list[str], taken: list[str]) -> None:
    """What all were told together is what is there, each once, and nothing else."""
    memories = store.memories.page(EVERYTHING, 10_000)
    there = {one.uid: one for one in memories}
    assert max(Counter(one.title for one in memories).values()) == 1
    told = [line for machine in machines for line in machine.told]
    last = {line[1]: line for line in told if line[0] in {"kept", "gone", "superseded"}}
    for uid, (what, _, *text) in last.items():
        if what == "gone":
            assert uid not in there
        else:
            status = Standing.ACTIVE if what == "kept" else Standing.SUPERSEDED
            assert ([there[uid].what], there[uid].status) == (text, status)
    added = Counter((uid, more) for what, uid, *more_ in told if what == "added" for more in more_)
    assert added == Counter((uid, word) for uid in changed for word in there[uid].what.split()[1:])
    took = Counter(line[1] for line in told if line[0] == "took")
    assert {*took.values()} == {1}
    assert there.keys() == {uid for uid, line in last.items() if line[0] != "gone"} | {*changed} | {*taken} - {*took}


def alike(ours: list[Any], theirs: list[Any]) -> None:
    """The same tiers and hits, with the same scores but for rounding."""
    assert len(ours) == len(theirs) > 0
    for one, other in zip(ours, theirs, strict=True):
        assert type(one) is type(other)
        if one == "mismatch":
            continue
        assert one[0] == other[0]
        assert [hit[:2] for hit in one[1]] == [hit[:2] for hit in other[1]]
        assert [hit[2] for hit in one[1]] == pytest.approx([hit[2] for hit in other[1]], abs=1e-5)


def test_what_three_machines_are_told_is_so_and_none_of_them_answers_from_a_stale_copy(tmp_path) -> None:
    url = postgres.emptied()
    with Engine.open(replace(config(url), home=str(tmp_path)), lasting=False) as engine:
        words = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "theta")
        engine.save_all([Draft(title=f"seed {n}", what=f"{words[n % 7]} seed") for n in range(7)])
        changed = [one.memory.uid for one in engine.save_all([Draft(title=f"c{n}", what="begun") for n in range(2)])]
        taken = [one.memory.uid for one in engine.save_all([Draft(title=f"t{n}", what="alpha") for n in range(12)])]
        seeds = [one.uid for one in engine.recent(limit=100) if one.title.startswith("seed")]
    told = [(url, name, 80, changed, taken) for name in "abc"]

    with machines(tmp_path / "machines", MACHINE, told) as started:
        with ThreadPoolExecutor(len(started)) as pool:
            list(pool.map(lambda machine: machine.until("done"), started))
        with closing(PostgresStore(url)) as store:
            settled = config(url, f"hashed-{active(store)}")
            with Engine.open(replace(settled, home=str(tmp_path)), lasting=False) as engine:
                engine.embed()
                engine.learn()
            assert store.queue.queued() == 0
            assert list(store.check()) == []
            kept_once(store, started, changed, [*taken, *seeds])
        for machine in started:
            machine.go()
        answers = [machine.until("answers")[1] for machine in started]

    with machines(tmp_path / "new", MACHINE, [(url, "new", 0, [], [])]) as [new]:
        new.until("done")
        new.go()
        afresh = new.until("answers")[1]
    assert afresh.count("mismatch") <= len(afresh) // 3  # by vector and both ways, of the models that do not answer
    assert all(one == "mismatch" or one[1] for one in afresh)
    for own in answers:
        alike(own, afresh)
    assert Move.of(Config(), url, str(tmp_path / "file")).run(quiet).memories
    sound(tmp_path / "file" / "memory.db")


# Opening ------------------------------------------------------------------------------

OPENING = """
import json
[url] = json.loads(sys.argv[1])
print('["ready"]', flush=True)
sys.stdin.readline()
with Engine.open(url) as engine:
    memory = engine.save(note("first")).memory
    found = [hit.memory.uid for hit in engine.search("alpha").hits]
print(json.dumps(["kept", memory.uid, found]), flush=True)
"""


@pytest.fixture
def empty() -> Iterator[str]:
    """A database in which nothing is, by its URL."""
    with postgres.another("memory_machines") as url:
        yield url


def test_machines_that_open_an_empty_database_at_once_make_its_tables_once(empty, tmp_path) -> None:
    with machines(tmp_path, OPENING, [(empty,)] * 5) as started:
        told = [machine.until("kept")[1:] for machine in started]

    [uid] = {uid for uid, _ in told}  # the same content, once
    assert [found for _, found in told] == [[uid]] * 5
    with psycopg.connect(empty) as db:
        versions = db.execute("select version from memory.format order by 1").fetchall()
    assert versions == [(FORMAT,)]
    with closing(PostgresStore(empty)) as store:
        assert store.counts().memories == len(store.generations.every()) == 1
        assert list(store.check()) == []
