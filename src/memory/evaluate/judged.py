"""Judged sets: documents, questions, and which documents answer which question."""

from __future__ import annotations

import json
import math
from hashlib import sha256
from random import Random
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from memory.config.files import BULK_BYTES, contents, utf8
from memory.schema.errors import BODY_LIMIT, NAME_LIMIT, Invalid, check_text, clipped_repr, explained, placed, printable
from memory.schema.query import QUERY_LIMIT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

CORPUS, QUERIES, JUDGMENTS = "corpus.jsonl", "queries.jsonl", "qrels.tsv"
FORM = f"A judged set is a folder with {CORPUS}, {QUERIES} and {JUDGMENTS}; see `memory help benchmarks`."
ROWS = {
    CORPUS: 'A line is {"id": "d1", "text": "..."}; "title" and "group", both texts, may follow.',
    QUERIES: 'A line is {"id": "q1", "text": "..."}; "group", a text, may follow.',
    JUDGMENTS: "A line is a query's id, a document's id and a grade, with tabs between them; grades above 0 answer.",
}
SEED = 1  # of every sample, so that it has the same questions each time


class JudgedDocument(NamedTuple):
    """
    Attributes:
        group: Questions of a group are asked only among its documents.
        place: Where it stands, for errors: the file and the line.
    """

    id: str
    text: str
    title: str = ""
    group: str | None = None
    place: str = ""


class Question(NamedTuple):
    """
    Attributes:
        relevant: The documents that answer it, by id, with grades above 0; empty if none was judged to.
    """

    id: str
    text: str
    group: str | None = None
    relevant: Mapping[str, float] = MappingProxyType({})


Item = TypeVar("Item", JudgedDocument, Question)


class Judged(NamedTuple):
    """
    Attributes:
        questions: Those that some document of the set answers.
        skipped: How many questions no document answers.
        unknown: How many judgments name a document or question that does not exist; they were left out.
        fingerprint: Of the documents' file, 12 hexadecimal digits.
    """

    name: str
    folder: Path
    documents: tuple[JudgedDocument, ...]
    questions: tuple[Question, ...]
    skipped: int
    unknown: int
    fingerprint: str


def folders(paths: Sequence[Path]) -> list[Path]:
    """
    The folders of judged sets: each given folder itself, or those directly in it.

    Raises:
        Invalid: A folder has none, or two sets have the same name.
    """
    found: dict[str, Path] = {}
    for folder in paths:
        inner = [folder] if (folder / CORPUS).is_file() else sorted(path.parent for path in folder.glob(f"*/{CORPUS}"))
        if not inner:
            raise Invalid(f"there is no judged set in {printable(str(folder))}", hint=FORM)
        for one in inner:
            known = found.setdefault(name(one), one)
            if known.resolve() != one.resolve():
                raise Invalid(f"two sets are called {name(one)}: {printable(str(known))} and {printable(str(one))}")
    return list(found.values())


def name(folder: Path) -> str:
    return printable(folder.resolve().name)


def read(folder: Path) -> Judged:
    """
    Read a judged set.

    Raises:
        Invalid: A file is missing, or one of its lines has an error; the message begins with the place.
    """
    documents = _documents(folder)
    asked = questions(folder)
    relevant, unknown = _judgments(
        folder / JUDGMENTS, {one.id for one in asked}, {document.id for document in documents}
    )
    judged = tuple(one._replace(relevant=relevant[one.id]) for one in asked if one.id in relevant)
    if not judged:
        raise Invalid(
            f"{printable(str(folder / JUDGMENTS))} matches no question in {QUERIES} with a document in {CORPUS}",
            hint=ROWS[JUDGMENTS],
        )
    fingerprint = sha256(contents(folder / CORPUS, BULK_BYTES)).hexdigest()[:12]
    return Judged(name(folder), folder, documents, judged, len(asked) - len(judged), unknown, fingerprint)


def questions(folder: Path) -> tuple[Question, ...]:
    """
    The questions of a set, without judgments.

    Raises:
        Invalid: As in `read`.
    """

    def question(place: str, row: Mapping[str, Any]) -> Question:
        one = Question(_id(row, place, QUERIES), _text(row, "text", place, QUERY_LIMIT), _group(row, place))
        if not one.text.strip():
            raise Invalid(f"{place}: a question has no text", hint=ROWS[QUERIES])
        return one

    return _each(folder / QUERIES, question)


def sample(asked: Sequence[Question], most: int | None) -> Sequence[Question]:
    """At most this many of the questions, always the same ones; None takes all."""
    return asked if most is None or len(asked) <= most else Random(SEED).sample(asked, most)  # noqa: S311  # no secret


def _documents(folder: Path) -> tuple[JudgedDocument, ...]:
    def document(place: str, row: Mapping[str, Any]) -> JudgedDocument:
        text, title = _text(row, "text", place, BODY_LIMIT), _text(row, "title", place, BODY_LIMIT, needed=False)
        return JudgedDocument(_id(row, place, CORPUS), text, title, _group(row, place), place)

    return _each(folder / CORPUS, document)


def _judgments(path: Path, asked: set[str], documents: set[str]) -> tuple[dict[str, dict[str, float]], int]:
    """Grades above 0 by question and document, and how many judgments name something that does not exist."""
    relevant: dict[str, dict[str, float]] = {}
    unknown = 0
    for number, line in _lines(path):
        fields = [field.strip() for field in line.split("\t")]
        grade = _grade(fields)
        if grade is None:
            if number == 1 and len(fields) == 3:
                continue  # the header
            raise Invalid(
                f"{printable(str(path))}:{number}: expected two ids and a grade, not {clipped_repr(line)}",
                hint=ROWS[JUDGMENTS],
            )
        if fields[0] not in asked or fields[1] not in documents:
            unknown += 1
        elif grade > 0:
            relevant.setdefault(fields[0], {})[fields[1]] = grade
    return relevant, unknown


def _grade(fields: Sequence[str]) -> float | None:
    try:
        _, _, last = fields
        grade = float(last)
    except ValueError:
        return None
    return grade if math.isfinite(grade) else None


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Lines that are not blank, with their numbers. Only line feeds end one: JSON may contain other separators."""
    place = printable(str(path))
    with explained(Invalid, place, FORM):
        text = utf8(contents(path, BULK_BYTES), place)
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield number, line.removesuffix("\r")


def _each(path: Path, made: Callable[[str, Mapping[str, Any]], Item]) -> tuple[Item, ...]:
    """What is made of each JSON object, given its place; no two have the same id."""
    found: dict[str, Item] = {}
    for number, line in _lines(path):
        place = f"{printable(str(path))}:{number}"
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise Invalid(f"{place}: not JSON: {error}", hint=ROWS[path.name]) from error
        if not isinstance(row, dict):
            raise Invalid(f"{place}: expected an object, not {clipped_repr(row)}", hint=ROWS[path.name])
        one = made(place, row)
        if found.setdefault(one.id, one) is not one:
            raise Invalid(f"{place}: the id {clipped_repr(one.id)} is used twice")
    return tuple(found.values())


def _id(row: Mapping[str, Any], place: str, file: str) -> str:
    value = row.get("id")
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str) or not value.strip():
        raise Invalid(f'{place}: "id" must be a text, not {clipped_repr(value)}', hint=ROWS[file])
    return _checked(value.strip(), "id", place, NAME_LIMIT)


def _text(row: Mapping[str, Any], field: str, place: str, limit: int, *, needed: bool = True) -> str:
    value = row.get(field)
    if value is None and not needed:
        return ""
    if not isinstance(value, str):
        raise Invalid(f'{place}: "{field}" must be a text, not {clipped_repr(value)}', hint=ROWS[CORPUS])
    return _checked(value, field, place, limit)


def _group(row: Mapping[str, Any], place: str) -> str | None:
    return _checked(_text(row, "group", place, NAME_LIMIT, needed=False).strip(), "group", place, NAME_LIMIT) or None


def _checked(text: str, field: str, place: str, limit: int) -> str:
    with placed(place):
        check_text(f'"{field}"', text, limit)
    return text
