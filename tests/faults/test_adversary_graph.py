"""What somebody who wanted to lose data, to mislead or to slow down found in the entity graph, each as a test that failed first."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from itertools import chain

import apsw
import pytest
from command import Shell
from graph_made import entity_graph

from memory import Config, Draft, Engine
from memory.engine import graph as entities
from memory.engine.graph import Entities
from memory.schema.errors import BODY_LIMIT, Invalid, NotFound, StoreBusy
from memory.store.sqlite import SqliteStore
from memory.tools.graph import EntityGraph, carry, declare
from memory.tools.graph.rows import HINTS

LONE = "\ud800"  # half a character: JSON and command lines can hold one


@pytest.fixture
def graph(tmp_path) -> EntityGraph:
    return entity_graph(tmp_path / "home")


def known(graph: EntityGraph, name: str = "Ada") -> list[str]:
    (row,) = graph.open_nodes([name])["entities"]
    return row["observations"]


def imported(graph: EntityGraph, *rows: dict) -> carry.GraphImport:
    return carry.imported(graph, carry.parsed("\n".join(map(json.dumps, rows))))


# Lost ----------------------------------------------------------------------------------


def test_what_is_known_between_an_opened_and_a_closed_mark_is_not_taken_out(graph) -> None:
    graph.create_entities([{"name": "Ada", "obs": ["logs say <redacted> there", "wrote the first program"]}])

    with pytest.raises(Invalid, match="one observation opens <redacted> and another closes it"):
        graph.add_observations([{"entityName": "Ada", "contents": ["and </REDACTED > here"]}])
    with pytest.raises(Invalid, match="and another"):
        graph.create_entities([{"name": "Bob", "obs": ["<redacted>", "a fact", "</redacted>"]}])

    assert known(graph) == ["logs say <redacted> there", "wrote the first program"]
    assert graph.open_nodes(["Bob"])["unknown"] == ["Bob"]


def test_nobody_deletes_an_entity_after_it_was_looked_up_and_before_it_is_related(graph) -> None:
    graph.create_entities([{"name": "Ada"}, {"name": "Bob"}])
    path = graph.engine.store.path
    deleting = Engine(SqliteStore(path, busy_seconds=0.01), Config())
    ada = deleting.graph.entity("Ada").id

    def moment() -> datetime:  # asked for once the entities are known
        with pytest.raises(StoreBusy):
            deleting.delete(ada)
        return datetime.now(UTC)

    relations, new = Engine(SqliteStore(path), Config(), now=moment).graph.relate([("Ada", "Bob", "knows")])

    assert list(new) == [True]
    assert graph.engine.graph.relations([ada]) == relations
    graph.add_observations([{"entityName": "Ada", "contents": ["the code is <redacted>4711</redacted>"]}])
    assert known(graph)[-1] == "the code is [redacted]"


@pytest.mark.parametrize(
    ("text", "said"),
    [("z" * 9_000, "what is known of 'Ada' has 508,"), ("<redacted>a</redacted><redacted>", "is not closed")],
)
def test_where_one_cannot_be_told_more_none_is(graph, text, said) -> None:
    full = [f"{number:02}" + "x" * 9_990 for number in range(BODY_LIMIT // 10_000)]
    graph.create_entities([{"name": "Ada", "obs": full}, {"name": "Bob"}])

    with pytest.raises(Invalid, match=said):
        graph.create_entities([{"name": "New"}, {"name": "Ada", "obs": [text]}])
    with pytest.raises(Invalid, match=said):
        graph.add_observations([{"entity": "Bob", "contents": ["x"]}, {"entity": "Ada", "contents": [text]}])

    assert graph.open_nodes(["New"])["unknown"] == ["New"]
    assert known(graph, "Bob") == []
    graph.add_observations([{"entity": "Ada", "contents": full}])  # nothing new needs no room


def test_what_was_written_by_hand_can_be_removed(graph) -> None:
    graph.create_entities([{"name": "Ada"}])
    graph.engine.update("1", body="  first\n- second \n\n- \n-   \n- third\r\n")

    assert known(graph) == ["first", "second", "third"]
    graph.delete_observations([{"entityName": "Ada", "observations": ["first", "second", "third"]}])

    assert graph.engine.details("1").body == ""


def test_what_was_kept_before_a_rule_is_removed_by_what_it_says(graph, tmp_path) -> None:
    graph.create_entities([{"name": "Ada", "obs": ["met Bluebird", "x"]}])
    graph.create_relations([{"from": "Ada", "to": "Ada", "type": "Bluebird"}])
    (tmp_path / "home" / ".memoryignore").write_text("Bluebird\n")

    (found,) = graph.delete_observations([{"entity": "Ada", "observations": ["met Bluebird", "no Bluebird"]}])[
        "results"
    ]

    assert found["deleted"] == ["met Bluebird"]
    assert found["unknown"] == ["no [redacted:memoryignore:1]"]
    assert graph.delete_relations([{"from": "Ada", "to": "Ada", "type": "Bluebird"}])["unknown"] == []


def test_a_relation_that_was_kept_without_its_secret_is_removed_by_the_type_with_it(graph) -> None:
    secret = "sk-proj-" + "abcdefghijklmnopqrstuvwxyz1234567890ABCD"
    edge = {"from": "Ada", "to": "Ada", "relationType": secret}
    graph.create_entities([{"name": "Ada"}])
    graph.create_relations([edge])

    deleted = graph.delete_relations([edge])

    assert [row["relationType"] for row in deleted["deleted"]] == ["[redacted:openai-key]"]
    assert graph.get_stats()["total_relations"] == 0


# Crashed -------------------------------------------------------------------------------


def test_half_a_character_is_in_no_name(graph, tmp_path) -> None:
    graph.create_entities([{"name": "Ada"}])

    assert graph.open_nodes([LONE])["unknown"] == graph.delete_entities([LONE])["unknown"] == [LONE]
    for call in (
        lambda: graph.search_hybrid("x", [LONE]),
        lambda: graph.find_path("Ada", LONE),
        lambda: graph.add_observations([{"entityName": LONE, "contents": ["x"]}]),
        lambda: graph.create_relations([{"from": "Ada", "to": LONE, "relationType": "x"}]),
    ):
        with pytest.raises(NotFound, match="no entity"):
            call()
    edge = {"type": "relation", "from": LONE, "to": "Ada", "relationType": "x"}
    assert imported(graph, edge).notices[0].text.startswith("1 relations lead to entities that are not there")
    (tmp_path / "folder").mkdir()
    assert "no entity" in Shell(tmp_path / "home", tmp_path / "folder")("graph", "show", b"\xff", code=1).err


def test_no_page_begins_beyond_what_can_be_counted(graph) -> None:
    for offset in (2**63, 2**63 - 5, 10**9 + 1):
        with pytest.raises(Invalid, match="offset is a whole number from 0 to 1,000,000,000"):
            graph.read_graph(10, offset)


def test_brackets_without_end_are_refused(graph) -> None:
    with pytest.raises(Invalid, match="line 1 is not JSON"):
        carry.parsed("[" * 100_000)


# Misled --------------------------------------------------------------------------------


@pytest.mark.parametrize("memory", ["1", None, 1, "0" * 31])
def test_a_file_names_memories_by_their_uids_alone(graph, memory) -> None:
    graph.engine.save(Draft(title="has nothing to do with it"))
    graph.create_entities([{"name": "Ada"}])

    with pytest.raises(Invalid, match="line 1: a link needs a memory, its uid"):
        imported(graph, {"type": "link", "entity": "Ada", "memory": memory})


def test_a_file_names_entities_by_their_names_alone_and_links_none_to_another(graph) -> None:
    note = graph.engine.save(Draft(title="a note")).memory
    graph.create_entities([{"name": "Ada"}, {"name": "Bob"}])
    bob = graph.engine.graph.entity("Bob")

    found = imported(
        graph,
        {"type": "link", "entity": str(bob.id), "memory": note.uid},
        {"type": "link", "entity": "Ada", "memory": bob.uid},
        {"type": "link", "entity": "Ada", "memory": note.uid},
    )

    assert found.links == 1
    assert found.notices[0].text.startswith("2 links are to memories, or of entities, that are not there")
    assert graph.entity_memories("Bob")["total_memories"] == 0


def test_what_an_earlier_reference_server_answers_is_read(graph) -> None:
    rows = {"entities": [{"type": "entity", "name": "A"}, {"type": "entity", "name": "B"}]}
    rows["relations"] = [{"type": "relation", "from": "A", "to": "B", "relationType": "x"}]

    assert imported(graph, rows).relations == 1
    rows["relations"] = [{"from": "A", "to": "B", "type": "relation"}]
    assert imported(graph, rows).relations == 1


def test_a_single_line_is_not_taken_for_a_document(graph) -> None:
    assert imported(graph, {"type": "entity", "name": "A", "relations": []}).entities == 1


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"type": "entity", "name": "x" * 201}, "name has 201 characters"),
        ({"type": "entity", "name": "a\nb"}, "name is one line of text"),
        ({"type": "entity", "name": "A", "entityType": "x" * 201}, "category has 201 characters"),
        ({"type": "entity", "name": "A", "observations": ["x" * 9_999] * 51}, "body has 510,"),
        ({"type": "relation", "from": "A", "to": "A", "relationType": "x" * 201}, "relationType has 201 characters"),
    ],
)
def test_what_cannot_be_kept_is_said_with_its_line_before_the_first_is_kept(row, said) -> None:
    with pytest.raises(Invalid, match=f"line 2.*{said}"):
        carry.parsed(json.dumps({"type": "entity", "name": "first"}) + "\n" + json.dumps(row))


def test_an_import_that_ends_early_says_how_much_was_kept(tmp_path) -> None:
    config = entity_graph(tmp_path / "home").engine.config
    graph = EntityGraph(Engine(SqliteStore(config.database, busy_seconds=0.1), config))
    rows = [{"type": "entity", "name": f"e{number}"} for number in range(carry.PAGE + 1)]
    said = carry.parsed("\n".join(map(json.dumps, rows)))
    other = apsw.Connection(config.database)
    other.set_busy_timeout(30_000)  # what was kept is learned from meanwhile

    def lock(_done: int, _total: int) -> None:
        other.execute("begin immediate")

    with pytest.raises(StoreBusy) as refused:
        carry.imported(graph, said, lock)
    other.execute("rollback")

    assert refused.value.hint == "Try again. 500 of 501 were saved before. Repeat the import to continue."
    assert carry.imported(graph, said).entities == 1


def test_who_has_much_to_say_hides_nobody(graph) -> None:
    graph.create_entities(
        [{"name": "Ada", "obs": [f"{number}" + "x" * 9_000 for number in range(20)]}, {"name": "Zoe"}]
    )

    said = declare.answer(graph.read_graph())

    assert len(said) < declare.ALTOGETHER + 10_000
    assert "Zoe" in said
    assert "more lines are left out" in said


# Slow ----------------------------------------------------------------------------------


class Compared(str):
    """A text that counts how often one like it is compared."""

    times = 0
    __slots__ = ()
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        Compared.times += 1
        return str.__eq__(self, other)


def test_many_observations_are_compared_no_more_often_than_their_number(graph, monkeypatch) -> None:
    texts = [f"{number:x}" for number in range(3_000)]
    graph.create_entities([{"name": "Ada", "obs": texts}])
    taken = entities.observations
    monkeypatch.setattr(entities, "observations", lambda body: tuple(map(Compared, taken(body))))
    monkeypatch.setattr(Compared, "times", 0)

    (told,) = graph.add_observations([{"entityName": "Ada", "contents": texts}])["results"]

    assert told["known"] == texts
    assert 0 < Compared.times < 10 * len(texts)  # each with each would be four million times


def test_thirty_thousand_observations_are_added_again(graph) -> None:
    texts = [f"{number:x}" for number in range(30_000)]
    graph.create_entities([{"name": "Ada", "obs": texts}])

    (told,) = graph.add_observations([{"entityName": "Ada", "contents": texts}])["results"]

    assert told["known"] == texts


def test_long_names_are_not_compared_to_their_end(graph, monkeypatch) -> None:
    graph.create_entities([{"name": f"{number} " + "abcdefghij " * 17} for number in range(1000)])
    asked = []
    close = entities.get_close_matches
    monkeypatch.setattr(
        entities, "get_close_matches", lambda name, known, n: asked.append([name, *known]) or close(name, known, n)
    )

    found = graph.open_nodes(["hgfedcba " * 21 + letter for letter in "vwxyz"])

    assert len(found["unknown"]) == 5
    assert len(asked) == HINTS
    assert max(map(len, chain(*asked))) == entities.BEGINNING


def test_an_export_asks_once_a_page(graph, monkeypatch) -> None:
    graph.create_entities([{"name": f"E{n}", "observations": ["x"]} for n in range(50)])
    asked = []
    known = Entities.known
    monkeypatch.setattr(Entities, "known", lambda self, page: asked.append(len(page)) or known(self, page))

    assert len(list(carry.exported(graph.engine))) == 50
    assert asked == [50]


def test_one_entity_by_two_of_its_names_is_deleted_once(graph) -> None:
    graph.create_entities([{"name": "Oak"}])
    id = graph.open_nodes(["Oak"])["entities"][0]["id"]

    found = graph.delete_entities(["Oak", id])

    assert ([one["name"] for one in found["deleted"]], found["unknown"]) == (["Oak"], [])


@pytest.mark.parametrize("wrong", ["false", 0, None])
def test_a_flag_is_true_or_false(graph, wrong) -> None:
    with pytest.raises(Invalid, match="force_refresh is true or false"):
        graph.generate_embeddings([], wrong)
    with pytest.raises(Invalid, match="include_observations is true or false"):
        graph.search_entities_semantic("x", include_observations=wrong)
