"""
Several processes that save, update, delete, restore, purge, undo, search and reindex in one database, and what must be true
afterwards by the log of what was acknowledged to them.

Each process changes its own memories only, so that its log says what each of them must be.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from contextlib import closing
from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING, NamedTuple

import apsw

from memory import Config, Draft, Engine, NotFound
from memory.vectors.words import tidy

if TYPE_CHECKING:
    from pathlib import Path

WORDS = (
    "pool queue worker token cookie index broker cache region invoice retry schema deploy canary limit session backup audit "
    "webhook render parser socket"
).split()

MIX = {
    "save": 40,
    "update": 20,
    "delete": 10,
    "restore": 5,
    "purge": 2,
    "search": 15,
    "undo": 8,
    "reindex": 0.3,
    "reopen": 3,
}

OF_ONE = {"update", "delete", "restore", "purge", "search", "undo"}

ALIVE, TRASHED, GONE = "alive", "in the trash", "gone"


class Soaked(NamedTuple):
    """
    Attributes:
        acknowledged: Operations that returned.
        refused: Errors by type and operation.
        wrong: Sentences: what is not as it was acknowledged.
    """

    acknowledged: int
    refused: Counter[str]
    wrong: list[str]


def soak(home: Path, *, processes: int, seconds: float = inf, turns: float = inf, kills: int = 0) -> Soaked:
    """
    Args:
        turns: What each process does at most; of a slow machine that is as much as of a fast one.
        kills: How often a process is killed and another begins in its place, at random moments.
    """
    dice = random.Random(processes)
    until = time.monotonic() + seconds
    logs: list[Path] = []
    running: list[subprocess.Popen[bytes]] = []

    def start() -> subprocess.Popen[bytes]:
        logs.append(home.parent / f"log-{len(logs)}")
        left = str(max(0.0, until - time.monotonic()))
        with logs[-1].open("wb") as log:
            return subprocess.Popen([sys.executable, __file__, str(home), str(len(logs)), left, str(turns)], stdout=log)

    running = [start() for _ in range(processes)]
    codes = []
    for _ in range(kills):
        time.sleep(dice.uniform(0.5, 1.5) * seconds / (kills + 1))
        victim = running.pop(0)
        victim.kill()
        victim.wait()
        running.append(start())
    codes = [process.wait() for process in running]
    lines = [
        [json.loads(line) for line in log.read_text("utf-8").splitlines(keepends=True) if line.endswith("\n")]
        for log in logs
    ]
    wrong = [f"a process ended with {code}" for code in codes if code]
    refused = Counter(f"{line[2]} in {line[1]}" for log in lines for line in log if line[0] == "refused")
    wrong += [
        f"{what} was refused {count} times" for what, count in refused.items() if not what.startswith("StoreBusy")
    ]
    return Soaked(sum(line[0] == "done" for log in lines for line in log), refused, wrong + _compared(home, lines))


def _compared(home: Path, logs: list[list[list[str]]]) -> list[str]:
    """What is wrong with the database, and with each memory by the log of the process that made it."""
    with closing(apsw.Connection(str(home / "memory.db"))) as db:
        wrong = [str(row) for (row,) in db.execute("pragma integrity_check") if row != "ok"]
        if wrong:
            return wrong
        rows = {uid: (title, why) for uid, title, why in db.execute("select uid, title, why from memories")}
        trash = {uid for (uid,) in db.execute("select uid from trash where replaced = 0")}
        stray = db.execute("select count(*) from chunks where memory_id not in (select id from memories)").get
    titles = Counter(title for title, _ in rows.values())
    wrong += [f"{title} is there {count} times" for title, count in titles.items() if count > 1]
    wrong += [f"{stray} chunks belong to no memory"] * bool(stray)
    for log in logs:
        wrong += _of_one(log, rows, trash)
    return wrong


def _of_one(log: list[list[str]], rows: dict[str, tuple[str, str]], trash: set[str]) -> list[str]:
    expected: dict[str, tuple[str, str, str]] = {}  # uid: title, why, state
    begun: str | None = None
    for what, *line in log:
        if what == "begin":
            begun = line[1] if line[0] != "search" else None
        elif what == "done":
            uid, title, why, state = line[1:]
            expected[uid], begun = (title, why, state), None
        else:
            begun = None
    wrong = []
    for uid, (title, why, state) in expected.items():
        if uid == begun:  # killed in the midst of it: either is right
            if uid in rows and uid in trash:
                wrong.append(f"{title} is there and in the trash")
            continue
        there = ALIVE if uid in rows else TRASHED if uid in trash else GONE
        if there != state:
            wrong.append(f"{title} is {there}; it was acknowledged as {state}")
        elif state == ALIVE and rows[uid] != (title, why):
            wrong.append(f"{title} says {rows[uid]}; acknowledged was {why!r}")
    return wrong


# In each process ---------------------------------------------------------------


class Worker:
    """One process: what it does, at random, to memories of its own, and what it says of it before and after."""

    def __init__(self, home: str, number: int) -> None:
        embedding = replace(Config().embedding, provider="hashed", model="hashed-64")
        self.config = replace(Config(), home=home, embedding=embedding)
        self.engine, self.number, self.turn = Engine.open(self.config), number, 0
        self.dice = random.Random(number)
        self.mine: dict[str, list[str]] = {}  # uid: title, why, state

    def work(self, until: float, turns: float) -> None:
        from memory import Error

        while time.monotonic() < until and self.turn < turns:
            self.turn += 1
            what = self.dice.choices(list(MIX), list(MIX.values()))[0]
            state = TRASHED if what == "restore" else ALIVE
            owned = [uid for uid, found in self.mine.items() if found[2] == state]
            if what in OF_ONE and not owned:
                continue
            uid = self.dice.choice(owned) if what in OF_ONE else ""
            say("begin", what, uid)
            try:
                getattr(self, what)(uid)
            except Error as error:
                say("refused", what, type(error).__name__)

    def done(self, what: str, uid: str, *, title: str = "", why: str | None = None, state: str = ALIVE) -> None:
        before = self.mine.get(uid, [title, "", ALIVE])
        self.mine[uid] = [before[0], before[1] if why is None else why, state]
        say("done", what, uid, *self.mine[uid])

    def save(self, _: str) -> None:
        title = f"p{self.number}t{self.turn}q"
        body = "\n\n".join(self.words(60) for _ in range(self.dice.randint(0, 4)))
        draft = Draft(title=title, what=self.words(12), body=body, project="p")
        self.done("save", self.engine.save(draft).memory.uid, title=title)

    def words(self, count: int) -> str:
        return " ".join(self.dice.choices(WORDS, k=count))

    def update(self, uid: str) -> None:
        self.engine.update(uid, why=f"w{self.turn}")
        self.done("update", uid, why=f"w{self.turn}")

    def delete(self, uid: str) -> None:
        self.engine.delete(uid)
        self.done("delete", uid, state=TRASHED)

    def purge(self, uid: str) -> None:
        self.engine.delete(uid, purge=True)
        self.done("purge", uid, state=GONE)

    def restore(self, uid: str) -> None:
        self.engine.trash.restore([uid])
        self.done("restore", uid)

    def undo(self, uid: str) -> None:
        """What this changed is read back: it may have been the save, and then the memory is in the trash."""
        try:
            plan = self.engine.trash.last(uid)
        except NotFound:  # what was done to it was taken back already
            return
        self.engine.trash.undo(plan, lambda _done, _all: None)
        try:
            self.done("undo", uid, why=self.engine.get(uid).why)
        except NotFound:
            self.done("undo", uid, state=TRASHED)

    def search(self, uid: str) -> None:
        title = self.mine[uid][0]
        if all(hit.memory.uid != uid for hit in self.engine.search(title, limit=5).hits):
            say("refused", "search", f"no {title}")

    def reindex(self, _: str) -> None:
        self.engine.reindex()

    def reopen(self, _: str) -> None:
        """What closes a database last takes its log away; what opens it first makes the shared memory anew."""
        self.engine.close()
        self.engine = Engine.open(self.config)

    def tidied(self, over: threading.Event) -> None:
        """What programs that stay do in a thread of their own, while the others write."""
        with Engine.open(self.config) as beside:
            while not over.wait(0.02):
                tidy(beside.store)


def say(*words: str) -> None:
    sys.stdout.write(json.dumps(words) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    home, number, seconds, turns = sys.argv[1:]
    end = time.monotonic() + float(seconds)
    worker, over = Worker(home, int(number)), threading.Event()
    beside = threading.Thread(target=worker.tidied, args=(over,))
    beside.start()
    try:
        worker.work(end, float(turns))
    finally:
        over.set()
        beside.join()
    worker.engine.close()
