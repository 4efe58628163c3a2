"""
Search as of a moment: memories as they were then, ranked by keyword.

No index knows them, so all of them are looked through: once for words that begin as those that are looked for, and the few
that have any are ranked by BM25, as chunks are, but each as a whole.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from memory.schema.answer import Answer, Hit, Outcome, Ranking, Tier, coverages
from memory.schema.draft import SHARED, properties, tag_key
from memory.schema.kinds import RULES
from memory.schema.memory import (
    INSTRUCTIONS,
    Chunk,
    ChunkId,
    ChunkType,
    Memory,
    MemoryId,
    Revision,
    Standing,
)
from memory.schema.moments import day_or_minute
from memory.schema.query import FILTERS, NONE, Granularity, Scope
from memory.search.confidence import Measure, confidence
from memory.search.fuse import Fusing
from memory.search.keywords import PROXIMITY_DEPTH, TERMS, lifted, neighbours, proximities
from memory.search.search import Trace, without_excluded
from memory.search.shape import measured, rollup, unreadable
from memory.store import WEIGHTS
from memory.store.memories import K1, B, ranking_idf
from memory.text.fold import fold
from memory.text.lookup import beginning, folded, forms, held, spaced, stemmed, stems, weighed
from memory.text.terms import grams, terms

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from datetime import datetime

    from memory.schema.query import Query, Term
    from memory.text.lookup import Phrased

TEXTS = (
    *(name for name in SHARED if name != "parent_id"),
    "content_hash",
    "updated_at",
    "body_size",
    "flags",
    "pinned",
)
"""What a revision says of a memory; its ids and links are those of the memory."""


class Known(NamedTuple):
    """
    A memory as it is, or as it was when it was deleted or an undo replaced what it said.

    Attributes:
        history: What it said before, latest first; what was replaced before the moment that is asked for may be left out.
        until: When it was deleted or replaced; None if it is so now.
        superseded: Uids of what it superseded when it was deleted.
    """

    memory: Memory
    body: str
    history: Sequence[Revision] = ()
    until: datetime | None = None
    superseded: Collection[str] = ()


class Version(NamedTuple):
    """A memory as it was at a moment."""

    memory: Memory
    body: str


# What there was -------------------------------------------------------------------


def then(known: Iterable[Known], successors: Iterable[Memory], moment: datetime) -> list[Version]:
    """
    What there was at a moment, last changed last.

    A memory was superseded if its successor was there already. One that was purged is as if it had never been.

    Args:
        successors: Memories that superseded others and may not be among the known.
    """
    first: dict[str, Known] = {}
    later = [one for one in known if one.until is None or one.until > moment]
    for one in later:
        other = first.get(one.memory.uid)
        if other is None or _earlier(one, other):
            first[one.memory.uid] = one
    there = {uid: one for uid, one in first.items() if one.memory.created_at <= moment}
    by = {one.uid: one for one in successors if one.created_at <= moment}
    by |= {uid: one.memory for uid, one in there.items()}
    superseded = {uid: by[one.memory.uid] for one in later if one.memory.uid in there for uid in one.superseded}
    states = [_state(one, superseded.get(uid), by, moment) for uid, one in there.items()]
    return sorted(states, key=lambda state: (state.memory.updated_at, state.memory.id))


def _earlier(one: Known, other: Known) -> bool:
    return one.until is not None and (other.until is None or one.until < other.until)


def _state(one: Known, successor: Memory | None, by: Mapping[str, Memory], moment: datetime) -> Version:
    memory, body = one.memory, one.body
    if former := next((old for old in reversed(one.history) if old.replaced_at > moment), None):
        memory, body = memory._replace(**{name: getattr(former.memory, name) for name in TEXTS}), former.body
    if successor is None and memory.successor_uid is not None:
        successor = by.get(memory.successor_uid)
        if successor is None:
            memory = memory._replace(status=Standing.ACTIVE, superseded_by=None, successor_uid=None, successor=None)
    if successor is not None:
        id, uid, shown = successor.id or None, successor.uid, successor.short_id
        memory = memory._replace(status=Standing.SUPERSEDED, superseded_by=id, successor_uid=uid, successor=shown)
    return Version(memory, body)


def admitted(states: Iterable[Version], scope: Scope) -> list[Version]:
    """Those that are in scope, by what they were; but for the words that they may not hold."""
    return [state for state in states if _inside(state.memory, scope)]


def _inside(memory: Memory, scope: Scope) -> bool:
    for name, field in FILTERS.items():
        if (allowed := getattr(scope, field)) and (
            getattr(memory, name) not in allowed and not (NONE in allowed and getattr(memory, name) is None)
        ):
            return False
    return (
        {*map(tag_key, scope.tags)} <= {*map(tag_key, memory.tags)}
        and (scope.among is None or memory.id in scope.among)
        and (memory.pinned or not scope.pinned)
        and (scope.since is None or memory.updated_at >= scope.since)
        and (scope.until is None or memory.updated_at < scope.until)
        and (scope.happened_since is None or memory.happened >= scope.happened_since)
        and (scope.happened_until is None or memory.happened < scope.happened_until)
    )


# What they hold --------------------------------------------------------------------


CLASSES = tuple(sorted(set(WEIGHTS.values()), reverse=True))


class VersionTexts:
    """
    What states say, as the keyword index would have it, each as one chunk.

    Attributes:
        sizes: How many words each has.
    """

    def __init__(self, states: Sequence[Version]) -> None:
        said = [_said(state) for state in states]
        self.sizes, self._said = [size for size, _ in said], [text for _, text in said]
        self._found: dict[tuple[tuple[str, ...], bool], dict[int, float]] = {}

    def found(self, tokens: tuple[str, ...], *, prefix: bool = False) -> Mapping[int, float]:
        """The places of states that hold these words side by side: the sum of the weights of where they do."""
        key = tokens, prefix
        if key not in self._found:
            places: Sequence[int] = range(len(self._said) if tokens else 0)
            words: list[str] = []
            for number, token in enumerate(tokens, start=1):
                begun = f" {beginning(token)}"
                places = [place for place in places if begun in self._said[place]]
                words.append(self._spelled(token, places, prefix=prefix and number == len(tokens)))
            # What follows is looked at only: places of a phrase may overlap.
            pattern = re.compile(
                f" {words[0]}(?=  {'  '.join(words[1:])} )" if words[1:] else f" {''.join(words)}(?= )"
            )
            often = [(place, self._often(place, pattern)) for place in places]
            self._found[key] = {place: weight for place, weight in often if weight}
        return self._found[key]

    def holding(self, term: Phrased) -> set[int]:
        """The places of states that hold a term in any of its forms."""
        return {place for form, tokens in term.phrases for place in self.found(tokens, prefix=form.prefix)}

    def _spelled(self, token: str, places: Sequence[int], *, prefix: bool) -> str:
        """A pattern for the words of these states with this stem, or with one that begins so. Few words are stemmed."""
        start = beginning(token)
        begun = re.compile(f" {re.escape(start)}([^ ]*)")
        rests = list({rest for place in places for rest in begun.findall(self._said[place])})
        own = zip(rests, stemmed(start + rest for rest in rests), strict=True)
        ends = sorted(re.escape(rest) for rest, stem in own if stem == token or (prefix and stem.startswith(token)))
        return f"{re.escape(start)}(?:{'|'.join(ends)})" if ends else "(?!)"

    def _often(self, place: int, pattern: re.Pattern[str]) -> float:
        texts = zip(CLASSES, self._said[place].split("\n"), strict=True)
        return sum([weight * len(pattern.findall(text)) for weight, text in texts if text])


def _said(state: Version) -> tuple[int, str]:
    """
    How many words a memory has, and these.

    They come in a line for each of `CLASSES`, two blanks between words and a bar before each column.
    """
    size, lines = 0, dict.fromkeys(CLASSES, "")
    for weight, text in zip(WEIGHTS.values(), columns(state), strict=True):
        if words := text and spaced(fold(text)).split():
            size += len(words)
            lines[weight] += f"|  {'  '.join(words)}  "
    return size, "\n".join(lines.values())


def columns(state: Version) -> list[str]:
    """What is indexed of a memory, in the order of `WEIGHTS`."""
    memory, body = state
    headings = " ".join(line.lstrip("# ") for line in re.findall(r"(?m)^#{1,6} .*", body)) if "# " in body else ""
    described = RULES[memory.kind].family == "note" or not body.startswith(memory.what)
    text = f"{memory.what}\n{body}" if described else body
    tags = " ".join((*memory.tags, *properties(memory.kind, memory.metadata)))
    files = " ".join(memory.related_files)
    named = (memory.title, headings, text, memory.why, memory.impact, tags, memory.project or "", files)
    about = (memory.category or "", memory.project or "", memory.source or "")
    return [memory.title, headings, text, memory.why, memory.impact, tags, *about, files, *grams(["\n".join(named)])]


# Answered --------------------------------------------------------------------------


def answered(query: Query, states: Sequence[Version]) -> Answer:
    """
    The answer from memories as they were.

    Args:
        states: Last changed last; those in another scope are left out.
    """
    assert query.as_of is not None  # noqa: S101  # else there is nothing to do here
    trace = Trace()
    wanted = without_excluded(query, trace)
    there = admitted(states, wanted.scope)
    texts = VersionTexts(there)
    excluded = {place for text in wanted.scope.without for place in texts.found(stems(fold(text)))}
    trace.step("read", len(there))
    looked_for = _looked_for(wanted.text, texts, trace)
    ranking, proximity = _ranked(wanted.text, looked_for, there, texts, excluded)
    trace.step("keyword", len(ranking))
    passages = rollup(ranking, Granularity.COARSE, query.limit)
    numbers = measured(passages, ranking, looked_for, Tier.KEYWORD, proximity=proximity, fusing=Fusing())
    hits = tuple(
        _hit(there[passage.best.memory], looked_for, number, rank=rank)._replace(keyword=passage.best.keyword)
        for rank, (passage, number) in enumerate(zip(passages, numbers, strict=True), start=1)
    )
    trace.step("shape", len(hits))
    left = len(there) - len(excluded)
    count = "1 memory as it was" if left == 1 else f"{left:,} memories as they were"
    trace.notice(f"as of {day_or_minute(query.as_of)}: {count}, ranked by keyword alone")
    trace.notices += unreadable([hit.memory for hit in hits])
    worth = Outcome.NOTHING_SAVED, "nothing is in scope"
    if left:
        worth = confidence(hits, Tier.KEYWORD, len(looked_for), Measure, lambda: left)
    return Answer(query, hits, Tier.KEYWORD, None, looked_for, tuple(trace.steps), tuple(trace.notices), *worth)


def _looked_for(text: str, texts: VersionTexts, trace: Trace) -> tuple[Term, ...]:
    """The words of a query with what is known of them, as `memory.search.keywords.look_up` has them."""

    def known(token: str) -> tuple[int, int]:
        count = len(texts.found((token,)))
        return count, count

    found = weighed(terms(text), len(texts.sizes), known, lambda term: len(texts.holding(term)))
    if len(found) > TERMS:
        trace.notice(f"the query has {len(found)} words; the {TERMS} rarest were looked for")
        rarest = sorted(found, key=lambda term: -term.weight)[:TERMS]
        found = tuple(term for term in found if term in rarest)
    trace.step("terms", len(found))
    return found


def _ranked(
    text: str, looked_for: Sequence[Term], states: Sequence[Version], texts: VersionTexts, excluded: Collection[int]
) -> tuple[Ranking, Mapping[ChunkId, float]]:
    """The places of the states that hold any of the words, best first, in place of chunks and memories; and the proximity."""
    average = sum(texts.sizes) / max(1, len(texts.sizes))
    scores: dict[int, float] = {}
    bits: dict[int, int] = {}
    for number, form in enumerate(forms(looked_for)):
        holding = texts.found(stems(form.text), prefix=form.prefix)
        idf = ranking_idf(len(holding), len(states))
        for place, often in holding.items():
            norm = K1 * (1 - B + B * texts.sizes[place] / average)
            scores[place] = scores.get(place, 0.0) + idf * often * (K1 + 1) / (often + norm)
            bits[place] = bits.get(place, 0) | 1 << number
    places = sorted(scores.keys() - excluded, key=lambda place: (-scores[place], -place))
    ids = [ChunkId(place) for place in places]
    values, matched = [scores[place] for place in places], [bits[place] for place in places]
    ranking = folded(Ranking(ids, [MemoryId(id) for id in ids], values, matched, values), looked_for)
    first = {ChunkId(place): _words(states[place]) for place in places[:PROXIMITY_DEPTH]}
    proximity = proximities(neighbours(text, looked_for), first)
    return lifted(ranking, proximity), proximity


def _words(state: Version) -> str:
    memory = state.memory
    return fold(f"{memory.title}\n{memory.what}\n{state.body}\n{memory.why}\n{memory.impact}")


def _hit(state: Version, looked_for: Sequence[Term], numbers: tuple[float, float, float], *, rank: int) -> Hit:
    """A memory with the passage that holds most of the query."""
    from memory.redact.injection import orders  # only what is shown is looked through
    from memory.text.chunk import chunk

    memory, body = state
    pieces = [(piece, body[piece.start : piece.stop]) for piece in chunk(body)]
    if RULES[memory.kind].family == "note" or not pieces:
        pieces = [(replace(piece, index=piece.index + 1), text) for piece, text in pieces]
        pieces.insert(0, (Chunk(0, 0, 0, ChunkType.HEAD), memory.what))
    if len(pieces) > 1:
        head = "\n".join((memory.title, memory.why, memory.impact, *memory.tags))
        holds = [held(looked_for, fold(f"{head}\n{text}" if piece.index == 0 else text)) for piece, text in pieces]
        shares = coverages(looked_for, holds)
        pieces = [pieces[max(range(len(pieces)), key=lambda place: (shares[place], -place))]]
    [(piece, text)] = pieces
    if not memory.flags and orders("\n".join((_words(state), memory.description))) is not None:
        memory = memory._replace(flags=(INSTRUCTIONS,))  # the trash does not know
    score, coverage, relevance = numbers
    ranks = (("keyword", rank),)
    return Hit(memory, piece, ChunkId(0), text, score, coverage, None, None, ranks, relevance)
