"""Whatever is done on both sides of a mirror, in any order: they agree afterwards, and nothing that was written is lost."""

from __future__ import annotations

import shutil
import tempfile
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from hypothesis import HealthCheck, Phase, given, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from profiles import examples

from memory import Config, Draft, Engine
from memory.carry.pages import Page, link, parsed, rendered
from memory.config.settings import EmbeddingSettings
from memory.engine.mirror_sides import MirrorAction
from memory.schema.kinds import Kind
from memory.schema.query import ACTIVE, EVERYTHING, Scope
from memory.store.export import edge, edge_lines, memory_line

if TYPE_CHECKING:
    from memory.engine.mirror import Mirror

PROJECTS = st.sampled_from([None, "api", "a/b"])
TITLES = st.sampled_from(["One", "one", "Two: or more", "CON", "é"])
FIELDS = st.sampled_from(["why", "impact", "body", "tags"])
ENTITIES = st.sampled_from(["Redis", "C# [edge]"])


def opened(folder: Path) -> Engine:
    return Engine.open(Config(home=str(folder), embedding=EmbeddingSettings(provider="none")), lasting=False)


def agree(mirror: Mirror) -> list[MirrorAction]:
    """Looks until neither side changes any more: what is missing is looked for twice."""
    done: list[MirrorAction] = []
    for _ in range(6):
        steps = list(mirror.look())
        assert all(isinstance(one, MirrorAction) for one in steps), steps
        done += steps
        if not steps and not mirror.again:
            return done
    raise AssertionError(done)


def files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*.md") if ".memory" not in path.parts)


def changed(page: Page, field: str, word: str) -> Page:
    """A page that says a word in a field."""
    if field == "body":
        return page._replace(body=f"{word}\n")
    return page._replace(facts={**page.facts, field: [word] if field == "tags" else word})


def lines(engine: Engine) -> list[dict[str, object]]:
    """What an export has, but for what no page has: how often it was read, what it said before, when it was joined."""
    memories = [memory_line(one) for one in engine.maintenance.exported()]
    gone = ("accessed_at", "access_count", "history", "updated_at")
    kept = [{name: value for name, value in one.items() if name not in gone} for one in memories]
    edges = [
        {name: value for name, value in edge(one).items() if name != "created_at"} for one in edge_lines(engine.store)
    ]
    return sorted([*kept, *edges], key=repr)


class Machine(RuleBasedStateMachine):
    """
    A word of its own is in everything that is written. A word is owed until whoever wrote on the same side writes over it,
    or it is deleted while the other side was not changed.
    """

    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp())
        self.folder = self.root / "pages"
        self.folder.mkdir()
        self.engine = opened(self.root / "home")
        self.mirror, self.api = self.engine.mirror(self.folder), self.engine.mirror(self.folder, "api")
        self.words = (f"word{number}" for number in count())
        self.owed: dict[tuple[str, str, str], str] = {}  # by side, uid and field, since both sides agreed
        self.gone: dict[str, set[str]] = {"store": set(), "folder": set()}
        self.about: set[tuple[str, str]] = set()  # entities and memories that were linked, by uid
        self.pointed = False  # whether titles or links were changed: a memory whose links are others stays

    def teardown(self) -> None:
        self.engine.close()
        shutil.rmtree(self.root)

    def pages(self) -> dict[str, Path]:
        return {parsed(path.read_text()).uid: path for path in files(self.folder)}

    def memories(self) -> list[str]:
        return [one.uid for one in self.engine.recent(EVERYTHING, 10_000)]

    def notes(self, scope: Scope = EVERYTHING) -> list[str]:
        return [one.uid for one in self.engine.recent(scope, 10_000) if one.kind is not Kind.ENTITY]

    # What memories say

    @rule(title=TITLES, project=PROJECTS)
    def save(self, title: str, project: str | None) -> None:
        word = next(self.words)
        saved = self.engine.save(Draft(title=title, what="a fact", why=word, project=project))
        self.owed["store", saved.memory.uid, "why"] = word

    @precondition(lambda self: self.memories())
    @rule(pick=st.integers(0, 9), field=FIELDS)
    def update(self, pick: int, field: str) -> None:
        uid = self.memories()[pick % len(self.memories())]
        word = next(self.words)
        self.engine.update(uid, **{field: (word,) if field == "tags" else word})
        self.owed["store", uid, field] = word

    @precondition(lambda self: self.memories())
    @rule(pick=st.integers(0, 9), title=TITLES)
    def rename(self, pick: int, title: str) -> None:
        uid = self.memories()[pick % len(self.memories())]
        if uid in self.notes():  # entities would get the same
            self.engine.update(uid, title=title)
            self.pointed = True

    @precondition(lambda self: self.notes(ACTIVE))
    @rule(pick=st.integers(0, 9), title=TITLES)
    def supersede(self, pick: int, title: str) -> None:
        word = next(self.words)
        former = self.notes(ACTIVE)[pick % len(self.notes(ACTIVE))]
        saved = self.engine.save(Draft(title=title, what=word), supersedes=former)
        self.owed["store", saved.memory.uid, "what"] = word
        self.pointed = True

    @precondition(lambda self: self.notes())
    @rule(pick=st.integers(0, 9), name=ENTITIES)
    def attach(self, pick: int, name: str) -> None:
        """Link a memory to an entity, which has another title since if it was renamed."""
        uid = self.notes()[pick % len(self.notes())]
        entity = self.engine.save(Draft(kind="entity", title=name, body="- is")).memory
        self.engine.graph.attach(entity.uid, [uid])
        self.about.add((entity.uid, uid))
        self.pointed = True

    @precondition(lambda self: self.memories())
    @rule(pick=st.integers(0, 9))
    def delete(self, pick: int) -> None:
        uid = self.memories()[pick % len(self.memories())]
        self.engine.delete(uid)
        self.gone["store"].add(uid)
        self.about = {pair for pair in self.about if uid not in pair}
        self.owed = {key: word for key, word in self.owed.items() if key[:2] != ("store", uid)}

    # What pages say

    @rule(name=TITLES, folder=st.sampled_from(["", "api", "x/y"]))
    def make(self, name: str, folder: str) -> None:
        path = self.folder / folder / f"{name.replace(':', '')}.md"
        if path.exists():
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        word = next(self.words)
        path.write_text(f"# {name}\n\n{word}\n")
        self.owed["folder", str(path), "body"] = word

    @precondition(lambda self: files(self.folder))
    @rule(pick=st.integers(0, 9), field=FIELDS)
    def edit(self, pick: int, field: str) -> None:
        path = files(self.folder)[pick % len(files(self.folder))]
        page = parsed(path.read_text())
        if not page.uid:
            return
        word = next(self.words)
        path.write_text(rendered(changed(page, field, word)._replace(foreign="mine: 1\n")))
        self.owed["folder", page.uid, field] = word

    @precondition(lambda self: files(self.folder))
    @rule(pick=st.integers(0, 9), name=st.sampled_from(["moved.md", "deep/moved.md"]))
    def move(self, pick: int, name: str) -> None:
        path, to = files(self.folder)[pick % len(files(self.folder))], self.folder / name
        if to.exists():
            return
        to.parent.mkdir(exist_ok=True)
        path.rename(to)
        self.pointed = True
        self.owed = {
            (side, str(to) if uid == str(path) else uid, field): word for (side, uid, field), word in self.owed.items()
        }

    @precondition(lambda self: files(self.folder))
    @rule(pick=st.integers(0, 9))
    def end_lines_as_windows_does(self, pick: int) -> None:
        path = files(self.folder)[pick % len(files(self.folder))]
        path.write_bytes(path.read_bytes().replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"))

    @precondition(lambda self: len(files(self.folder)) > 1)
    @rule(pick=st.integers(0, 9))
    def remove(self, pick: int) -> None:
        path = files(self.folder)[pick % len(files(self.folder))]
        uid = parsed(path.read_text()).uid or str(path)
        path.unlink()
        self.gone["folder"].add(uid)
        self.owed = {key: word for key, word in self.owed.items() if key[:2] != ("folder", uid)}

    # Both

    def shared(self, pick: int) -> tuple[str, Path]:
        """A memory with a page, as they are after a look."""
        self.look()
        if not self.memories():  # they went as the last of their pages did
            self.save("One", None)
            self.look()
        path, uid = sorted((path, uid) for uid, path in self.pages().items())[pick % len(self.pages())]
        return uid, path

    @precondition(lambda self: self.memories())
    @rule(pick=st.integers(0, 3), mine=FIELDS, yours=FIELDS)
    def change_both(self, pick: int, mine: str, yours: str) -> None:
        uid, path = self.shared(pick)
        self.update(self.memories().index(uid), mine)
        self.edit(files(self.folder).index(path), yours)
        self.look()

    @precondition(lambda self: self.memories())
    @rule(pick=st.integers(0, 3), field=FIELDS)
    def delete_what_is_edited(self, pick: int, field: str) -> None:
        uid, path = self.shared(pick)
        self.delete(self.memories().index(uid))
        self.edit(files(self.folder).index(path), field)
        self.look()
        assert uid in self.memories()

    @precondition(lambda self: len(self.memories()) > 1)
    @rule(pick=st.integers(0, 3), field=FIELDS)
    def remove_what_is_updated(self, pick: int, field: str) -> None:
        uid, path = self.shared(pick)
        if len(self.memories()) == 1:
            return
        self.update(self.memories().index(uid), field)
        self.remove(files(self.folder).index(path))
        self.look()
        assert uid in self.memories()

    @precondition(lambda self: self.notes())
    @rule(pick=st.integers(0, 3), name=ENTITIES)
    def link(self, pick: int, name: str) -> None:
        """A page that links to an entity by the path of its page."""
        self.attach(pick, name)
        self.look()
        pages = self.pages()
        uid = self.notes()[pick % len(self.notes())]
        entity = next(one.uid for one in self.engine.recent(EVERYTHING, 10_000) if one.kind is Kind.ENTITY)
        page = parsed(pages[uid].read_text())
        target = link(str(pages[entity].relative_to(self.folder).with_suffix("")))
        pages[uid].write_text(rendered(page._replace(facts={**page.facts, "about": [target]})))
        self.about = {pair for pair in self.about if pair[1] != uid} | {(entity, uid)}
        self.look()

    @precondition(lambda self: self.memories())
    @rule(pick=st.integers(0, 3), field=FIELDS, name=st.sampled_from(["Copy (1).md", "One (conflicted copy).md"]))
    def copy(self, pick: int, field: str, name: str) -> None:
        """As a service does that found two versions."""
        _, path = self.shared(pick)
        page = parsed(path.read_text())
        to = self.folder / name
        if page.facts["kind"] == Kind.ENTITY or to.exists():
            return
        word = next(self.words)
        to.write_text(rendered(changed(page, field, word)))
        self.owed["folder", str(to), field] = word
        self.edit(files(self.folder).index(path), field)
        self.look()

    @precondition(lambda self: self.memories())
    @rule(pick=st.integers(0, 3), mine=FIELDS, yours=FIELDS)
    def merge(self, pick: int, mine: str, yours: str) -> None:
        """As git does that could not."""
        uid, path = self.shared(pick)
        (self.folder / ".git").mkdir(exist_ok=True)
        page = parsed(path.read_text())
        page = page._replace(body=f"{page.body.rstrip()}\n")
        words = next(self.words), next(self.words)
        one, other = (rendered(changed(page, *pair)) for pair in zip((mine, yours), words, strict=True))
        path.write_text(f"<<<<<<< HEAD\n{one}=======\n{other}>>>>>>> other\n")
        self.owed |= {("folder", uid, "one"): words[0], ("folder", uid, "other"): words[1]}
        self.look()
        assert not [path for path in files(self.folder) if "<<<<<<<" in path.read_text()]

    @rule()
    def look_at_one_project(self) -> None:
        agree(self.api)
        self.look()

    @rule()
    def look(self) -> None:
        agree(self.mirror)
        kept = " ".join(repr(one) for one in lines(self.engine))
        shown = " ".join(path.read_text() for path in files(self.folder))
        for (side, uid, field), word in self.owed.items():
            assert word in kept, (side, uid, field)
            assert word in shown, (side, uid, field)
        changed = {key[1] for key in self.owed}
        for side in self.gone.values() if not self.pointed else ():
            assert not (side - changed) & set(self.memories())
        there = {(one["entity"], one["memory"]) for one in lines(self.engine) if one.keys() >= {"entity", "memory"}}
        known = set(self.memories())
        assert {pair for pair in self.about if known.issuperset(pair)} <= there
        self.owed, self.gone, self.about = {}, {"store": set(), "folder": set()}, set()
        self.pointed = False
        assert self.pages().keys() == set(self.memories())
        assert len(self.pages()) == len(files(self.folder))

    @rule()
    def forget_what_was_agreed(self) -> None:
        """As after a clone: nothing is deleted on either side, and what differs is kept twice."""
        self.look()
        shutil.rmtree(self.folder / ".memory")
        before = lines(self.engine)
        self.look()
        assert lines(self.engine) == before

    @invariant()
    def in_the_folder(self) -> None:
        assert sorted(path.name for path in self.root.iterdir()) == ["home", "pages"]


TestMachine = Machine.TestCase
TestMachine.settings = examples(
    1, stateful_step_count=25, phases=[Phase.explicit, Phase.generate], suppress_health_check=list(HealthCheck)
)


NAMED = st.sampled_from(["One", "Two: or more", "é", "a  b"])
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)
COMMON = {
    "tags": st.lists(st.sampled_from(["a", "b c", "#d", "ü"]), max_size=2, unique=True).map(tuple),
    "related_files": st.lists(st.sampled_from(["a.py", "b: c.py"]), max_size=2, unique=True).map(tuple),
    "metadata": st.dictionaries(st.sampled_from("xy"), st.integers() | TEXT | st.booleans(), max_size=2),
    "project": PROJECTS,
    "source": st.sampled_from([None, "claude-code"]),
    "keyword_only": st.booleans(),
}
NOTES = st.builds(Draft, title=NAMED, what=NAMED, why=TEXT, impact=TEXT, body=TEXT, **COMMON)
TEXTS = st.builds(Draft, kind=st.just("knowledge_base"), title=NAMED, category=st.just("general"), body=NAMED, **COMMON)


@examples(2)
@given(st.lists(NOTES | TEXTS, max_size=6), st.data())
def test_a_folder_makes_the_same_store(drafts: list[Draft], data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        with opened(root / "one") as one, opened(root / "two") as two:
            saved = [one.save(draft).memory for draft in drafts]
            entities = [
                one.save(Draft(kind="entity", title=title, category="service", body="is there")).memory
                for title in ("Redis", "Gateway: edge")
            ]
            one.graph.relate([("Redis", "Gateway: edge", data.draw(st.sampled_from(["uses", "[[x]] y"])))])
            for memory in saved:
                if data.draw(st.booleans()):
                    one.graph.attach(entities[0].uid, [memory.uid])
                if data.draw(st.booleans()):
                    one.save(Draft(title=memory.title, what=f"since then {memory.uid}"), supersedes=memory.uid)
                elif data.draw(st.booleans()):
                    one.documents.pin([memory.uid])
            (root / "pages").mkdir()
            agree(one.mirror(root / "pages"))
            shutil.rmtree(root / "pages" / ".memory")
            agree(two.mirror(root / "pages"))
            assert lines(two) == lines(one)
            assert agree(two.mirror(root / "pages")) == []
