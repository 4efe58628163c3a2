"""Any sequence of changes and undos ends where it began, and what others changed since is never touched."""

from __future__ import annotations

import json
import shutil
import tempfile
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

from entries import START
from hypothesis import HealthCheck, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule
from profiles import examples
from sound import sound

from memory import Config, Draft, Engine
from memory.config import Flags
from memory.config.settings import EmbeddingSettings
from memory.schema.errors import Invalid, NotFound
from memory.schema.kinds import Kind
from memory.schema.query import EVERYTHING
from memory.schema.step import step
from memory.store.export import edge, edge_lines, memory_line
from memory.store.sqlite import SqliteStore
from memory.tools.bring import import_
from memory.tools.operation import Call

WORDS = st.sampled_from(["red", "green", "blue", "red green"])
TAGS = st.sampled_from([(), ("x",), ("x", "y")])
NAMES = st.sampled_from(["Ann", "Bob", "Cy"])
WHO = st.sampled_from([("ann", ""), ("ann", "codex"), ("bob", ""), ("bob", "cursor")])
WHERE = st.sampled_from([{"session_id": "s", "session_iter": 1, "agent_id": "a"}])


def world(engine: Engine) -> list[str]:
    """All that an export has of memories, relations and links."""
    records = [memory_line(one) for one in engine.maintenance.exported()] + [
        edge(one) for one in edge_lines(engine.store)
    ]
    return sorted(json.dumps(record, sort_keys=True) for record in records)


class Undone(RuleBasedStateMachine):
    """One person changes what they like, takes back the last of it now and then, and does that again."""

    def __init__(self) -> None:
        super().__init__()
        self.path = Path(tempfile.mkdtemp())
        self.moment = START
        config = Config(home=str(self.path), embedding=EmbeddingSettings(provider="none"))
        self.engine = Engine(SqliteStore(self.path / "memory.db"), config, now=self.clock)
        self.worlds: list[list[str]] = []
        self.undone: list[list[str]] = []
        self.lines: set[str] = set()

    def clock(self):
        self.moment += timedelta(seconds=1)
        return self.moment

    def did(self, change) -> None:
        """Change something, as a command does; what it did is to be taken back, if it did anything."""
        before, last = world(self.engine), self.engine.store.steps.last()
        self.lines.update(before)
        try:
            with step("test"):
                change()
        except (Invalid, NotFound):
            if self.engine.store.steps.last() == last:
                assert world(self.engine) == before
                return
        if self.engine.store.steps.last() == last:
            assert world(self.engine) == before
        else:
            self.worlds.append(before)
            self.undone.clear()

    def some(self, data, *kinds: Kind) -> int:
        scope = EVERYTHING._replace(kinds=frozenset(kinds))
        ids = [one.id for one in self.engine.recent(scope, 100)]
        return data.draw(st.sampled_from(sorted(ids))) if ids else 99

    # Changes ---------------------------------------------------------------

    @rule(what=WORDS, tags=TAGS)
    def save(self, what, tags) -> None:
        self.did(lambda: self.engine.save(Draft(title=what, what=what, tags=tags)))

    @rule(what=WORDS, where=WHERE)
    def save_a_report(self, what, where) -> None:
        draft = Draft(kind=Kind.REPORT, title="report", body=f"# {what}\n\n{what}", **where)
        self.did(lambda: self.engine.save(draft))

    @rule(score=st.integers(0, 2))
    def say_again(self, score) -> None:
        body = f"said at {self.clock()}"
        draft = Draft(kind=Kind.FEEDBACK, body=body, query_id="r", agent_id="a", metadata={"score": score})
        self.did(lambda: self.engine.runs.renew(draft))

    @rule(what=WORDS, data=st.data())
    def supersede(self, what, data) -> None:
        id = self.some(data)
        self.did(lambda: self.engine.save(Draft(title="new", what=what), supersedes=id))

    @rule(data=st.data())
    def descend(self, data) -> None:
        draft = Draft(title="child", what=data.draw(WORDS), parent_id=self.some(data))
        self.did(lambda: self.engine.save(draft))

    @rule(what=WORDS, tags=TAGS, data=st.data())
    def update(self, what, tags, data) -> None:
        id = self.some(data, Kind.NOTE, Kind.REPORT)
        self.did(lambda: self.engine.update(id, description=what, tags=tags))

    @rule(data=st.data())
    def delete(self, data) -> None:
        id = self.some(data)
        self.did(lambda: self.engine.delete(id))

    @rule(data=st.data(), pinned=st.booleans())
    def pin(self, data, pinned) -> None:
        id = self.some(data)
        self.did(lambda: self.engine.documents.pin([id], pinned=pinned))

    @rule()
    def rename_a_tag(self) -> None:
        self.did(lambda: self.engine.tags.rename("x", "z"))

    @rule()
    def clean_up(self) -> None:
        self.did(lambda: self.engine.cleanup(0, dry_run=False))

    @rule()
    def clear(self) -> None:
        self.did(lambda: self.engine.runs.clear(None))

    @rule(name=NAMES, what=WORDS)
    def add_an_entity(self, name, what) -> None:
        self.did(lambda: self.engine.save(Draft(kind=Kind.ENTITY, title=name, body=f"- {what}\n")))

    @rule(name=NAMES, what=WORDS)
    def observe(self, name, what) -> None:
        self.did(lambda: self.engine.graph.observe(name, [what]))

    @rule(name=NAMES, new=NAMES)
    def rename(self, name, new) -> None:
        self.did(lambda: self.engine.update(self.engine.graph.entity(name).id, title=new))

    @rule(name=NAMES, other=NAMES, gone=st.booleans())
    def relate(self, name, other, gone) -> None:
        change = self.engine.graph.unrelate if gone else self.engine.graph.relate
        self.did(lambda: change([(name, other, "knows")]))

    @rule(name=NAMES, data=st.data(), gone=st.booleans())
    def attach(self, name, data, gone) -> None:
        id = self.some(data, Kind.NOTE)
        change = self.engine.graph.detach if gone else self.engine.graph.attach
        self.did(lambda: change(name, [id]))

    @rule(name=NAMES, what=WORDS)
    def save_about(self, name, what) -> None:
        self.did(lambda: self.engine.save(Draft(title="about", what=what), entities=[name]))

    @rule(data=st.data())
    @precondition(lambda self: self.lines)
    def import_what_was(self, data) -> None:
        some = data.draw(st.lists(st.sampled_from(sorted(self.lines)), min_size=1, max_size=8, unique=True))
        file = self.path / "lines.jsonl"
        file.write_text("\n".join(some), "utf-8")
        flags = Flags(home=str(self.path))
        call = Call(lambda: self.engine, lambda _done, _total: None, lambda: None, flags=flags)
        self.did(lambda: import_.run(call, {"path": str(file), "project": None, "dry_run": False}))

    # Undo ------------------------------------------------------------------

    @rule()
    @precondition(lambda self: self.worlds)
    def undo(self) -> None:
        self.undone.append(world(self.engine))
        plan = self.engine.trash.last()
        assert self.engine.trash.undo(plan, lambda _done, _total: None)[0] == plan
        self.is_now(self.worlds.pop())

    @rule()
    @precondition(lambda self: self.undone)
    def redo(self) -> None:
        self.worlds.append(world(self.engine))
        plan = self.engine.trash.last_undo()
        assert self.engine.trash.redo(plan, lambda _done, _total: None)[0] == plan
        self.is_now(self.undone.pop())

    def is_now(self, then: list[str]) -> None:
        now = world(self.engine)
        assert [one for one in now if one not in then] == [one for one in then if one not in now]
        assert len(now) == len(then)

    @rule(data=st.data())
    def tell_what_is_deleted(self, data) -> None:
        there = {one.uid for one in self.engine.recent(EVERYTHING, 1000)}
        lying = {one.uid: one.short_id for one in self.engine.trash.recent(50)}
        assert lying == {} or self.engine.trash.named(lying[data.draw(st.sampled_from(sorted(lying)))])
        assert self.engine.store.counts().memories == len(there)

    def teardown(self) -> None:
        try:
            while self.worlds:
                self.undo()
            assert world(self.engine) == []
            assert self.engine.store.steps.last() is None
        finally:
            self.engine.close()
            sound(self.path / "memory.db")
            shutil.rmtree(self.path)


TestUndone = Undone.TestCase
TestUndone.settings = examples(2, stateful_step_count=30, suppress_health_check=list(HealthCheck))


def facts(line: str) -> tuple[str, str]:
    """What tells a line from others, and what it says; links to other memories follow from what becomes of those."""
    values = json.loads(line)
    own = {name: value for name, value in values.items() if name not in {"parent", "superseded_by"}}
    ends = [values.get(name) for name in ("schema", "uid", "source", "target", "entity", "memory", "type")]
    return json.dumps(ends), json.dumps(own, sort_keys=True)


class Two(RuleBasedStateMachine):
    """Two people and their programs change the same memories: nobody's undo or redo changes what another did last."""

    def __init__(self) -> None:
        super().__init__()
        self.path = Path(tempfile.mkdtemp())
        self.moment = START
        config = Config(home=str(self.path), embedding=EmbeddingSettings(provider="none"))
        self.engine = Engine(SqliteStore(self.path / "memory.db"), config, now=self.clock)
        self.askers: dict[str, list[tuple[str, str]]] = {}

    def clock(self):
        self.moment += timedelta(seconds=1)
        return self.moment

    def changed(self, who: tuple[str, str], change) -> set[str]:
        """Lines that are others, there or gone after a change."""
        before = dict(map(facts, world(self.engine)))
        self.engine.store.user = who[0]
        with suppress(Invalid, NotFound), step("test", who[1]):
            change()
        after = dict(map(facts, world(self.engine)))
        return {name for name in before | after if before.get(name) != after.get(name)}

    def did(self, who: tuple[str, str], change) -> None:
        for name in self.changed(who, change):
            self.askers.setdefault(name, []).append(who)

    def some(self, data, *kinds: Kind) -> int:
        ids = [one.id for one in self.engine.recent(EVERYTHING._replace(kinds=frozenset(kinds)), 100)]
        return data.draw(st.sampled_from(sorted(ids))) if ids else 99

    @rule(who=WHO, what=WORDS, entities=st.lists(NAMES, max_size=1))
    def save(self, who, what, entities) -> None:
        self.did(who, lambda: self.engine.save(Draft(title=what, what=what), entities=entities))

    @rule(who=WHO, data=st.data())
    def descend(self, who, data) -> None:
        draft = Draft(title="child", what=data.draw(WORDS), parent_id=self.some(data))
        self.did(who, lambda: self.engine.save(draft))

    @rule(who=WHO, what=WORDS, data=st.data())
    def update(self, who, what, data) -> None:
        id = self.some(data, Kind.NOTE)
        self.did(who, lambda: self.engine.update(id, description=what))

    @rule(who=WHO, data=st.data(), pinned=st.booleans())
    def pin(self, who, data, pinned) -> None:
        id = self.some(data)
        self.did(who, lambda: self.engine.documents.pin([id], pinned=pinned))

    @rule(who=WHO, data=st.data())
    def delete(self, who, data) -> None:
        id = self.some(data)
        self.did(who, lambda: self.engine.delete(id))

    @rule(who=WHO, name=NAMES)
    def add_an_entity(self, who, name) -> None:
        self.did(who, lambda: self.engine.save(Draft(kind=Kind.ENTITY, title=name, body="- one\n")))

    @rule(who=WHO, name=NAMES, other=NAMES, gone=st.booleans())
    def relate(self, who, name, other, gone) -> None:
        change = self.engine.graph.unrelate if gone else self.engine.graph.relate
        self.did(who, lambda: change([(name, other, "knows")]))

    @rule(who=WHO, name=NAMES, data=st.data(), gone=st.booleans())
    def attach(self, who, name, data, gone) -> None:
        id = self.some(data, Kind.NOTE)
        change = self.engine.graph.detach if gone else self.engine.graph.attach
        self.did(who, lambda: change(name, [id]))

    @rule(user=st.sampled_from(["ann", "bob"]), data=st.data(), way=st.sampled_from(["step", "memory", "redo"]))
    def undo(self, user, data, way) -> None:
        trash, id = self.engine.trash, self.some(data)
        plan = {"step": trash.last, "memory": lambda: trash.last(id), "redo": trash.last_undo}[way]
        changed = self.changed((user, ""), lambda: trash.undo(plan(), lambda _done, _total: None))
        for name in changed:
            assert self.askers[name][-1][0] == user, (name, self.askers[name])
            if way == "redo":
                self.askers[name].append((user, ""))
            else:
                self.askers[name].pop()
                self.askers[name] = self.askers[name] or [(user, "")]

    def teardown(self) -> None:
        self.engine.close()
        sound(self.path / "memory.db")
        shutil.rmtree(self.path)


TestTwo = Two.TestCase
TestTwo.settings = examples(2, stateful_step_count=40, suppress_health_check=list(HealthCheck))
