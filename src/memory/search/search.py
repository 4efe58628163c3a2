"""Search: one function, from a query to its answer; keywords first, vectors if they are not enough."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache, partial
from time import perf_counter
from types import MappingProxyType
from typing import TYPE_CHECKING

from memory.schema import NamedTuple
from memory.schema.answer import Answer, Notice, Ranking, Step, Tier, Verdict
from memory.schema.errors import NotFound
from memory.schema.query import Gate, Granularity, Mode, Query, Term
from memory.search.confidence import trusted
from memory.search.gate import DEPTH, UNKNOWN, GateOptions, judge as judged
from memory.search.keywords import SECTIONS_OF, look_up, ranked, widened, with_term_vectors, without_longer
from memory.search.newer import Newest
from memory.search.shape import completed, shape
from memory.store import Outset
from memory.text.terms import terms

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from memory.schema.errors import Error
    from memory.schema.holder import Backfilled
    from memory.schema.memory import ChunkId, MemoryId
    from memory.schema.space import Vectors
    from memory.search.fuse import Fusing, Proximity
    from memory.search.vectors import Near
    from memory.store import Generation, Store
    from memory.vectors.registry import Embedders
    from memory.vectors.term_vectors import Guess

ASKED = (Tier.HYBRID, Tier.VECTOR)
"""Tiers that compare with a vector of the query that a model made."""

ATTEMPTS = 20
"""How often an answer is begun anew because its generation of vectors was retired."""


class Trace:
    """
    The log of a search: what was done, and what the caller should know. No step decides by it.

    Attributes:
        partial: Whether many chunks have no vector yet, so the most similar one may be missing.
    """

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.notices: list[Notice] = []
        self.partial = False
        self.begun = perf_counter()

    def notice(self, text: str, hint: str = "") -> None:
        self.notices.append(Notice(text, hint))

    def step(self, name: str, found: int, note: str = "") -> None:
        now = perf_counter()
        self.steps.append(Step(name, found, now - self.begun, note))
        self.begun = now


class Ranked(NamedTuple):
    """
    What keywords found, as deep as was looked.

    Attributes:
        known, matches: The best chunks by BM25; at most so many were asked for.
        depth, ranking: The first so many of them, those with adjacent words of the query lifted.
        proximity: Of the first of these.
    """

    known: int = 0
    matches: Ranking = Ranking()
    depth: int = 0
    ranking: Ranking = Ranking()
    proximity: Mapping[ChunkId, float] = MappingProxyType({})


class Evidence(NamedTuple):
    """
    What is asked, and what is known about it so far. Each step takes one and hands on another; none is changed.

    Attributes:
        embedders, backfill: Called only if keywords are not enough; many searches need neither.
        trace: Its log, the only thing that grows.
        gate: What the verdict goes by.
        now: The clock that ages are measured by.
        first, depth: How deep rankings are looked into at first, and now: many chunks may be of one memory.
        planned, terms: Whether the words of the query were looked up; those that are looked for.
        proximity: Of ranked chunks, by the adjacent words of the query.
        words: What keywords found.
        carried: Whether words and verdict come from the snapshot before the model was asked.
        verdict: The gate's, on what keywords found.
        outset: What the store is asked first, and once; without a fit where there is to be no distilled tier.
        guess: The query's vector by term vectors, if they know enough of it; made at most once.
        vector: The generation that is searched, and the query's vector in its space; None until a model made it.
        failure: Why the model that was needed did not answer; it is not asked again.
        retired: How often the generation was retired meanwhile.
    """

    query: Query
    store: Store
    embedders: Callable[[], Embedders]
    fusing: Fusing
    backfill: Callable[[int], Backfilled | None]
    trace: Trace
    gate: GateOptions = GateOptions()
    now: Callable[[], datetime] = partial(datetime.now, UTC)
    first: int = 0
    depth: int = 0
    planned: bool = False
    terms: tuple[Term, ...] = ()
    proximity: Proximity = lambda _: {}
    words: Ranked = Ranked()
    carried: bool = False
    verdict: Verdict | None = None
    outset: Callable[[], Outset] = Outset
    guess: Callable[[], Guess | None] = lambda: None
    vector: tuple[Generation, Vectors] | None = None
    failure: Error | None = None
    retired: int = 0

    @property
    def compared(self) -> tuple[int, Vectors]:
        """The generation that is searched, and the query's vector, which was made."""
        assert self.vector is not None  # noqa: S101  # a model was asked before
        return self.vector[0].id, self.vector[1]

    @property
    def bare(self) -> bool:
        """Whether nothing is in scope; then finding nothing is not a failure."""
        return not self.store.memories.count(self.query.scope, most=1)

    def without_words(self) -> Evidence:
        """Without the rankings by keyword, because others changed what was ranked."""
        return self._replace(words=Ranked(), carried=False, depth=self.first)


class Look(NamedTuple):
    """
    A ranking, and the retrievers' rankings that it was made from, by name.

    Attributes:
        more: Looking deeper would find more.
        near: The cosines of what was compared, if anything was.
        proximity: Of its first chunks, if no vector was compared.
        later: For each memory those that replaced it, if asked for, and the newer ones that say the same, newest first.
        newest: What is newer, and shown for others.
    """

    tier: Tier
    ranking: Ranking
    rankings: Mapping[str, Ranking]
    more: bool
    near: Near | None = None
    proximity: Mapping[ChunkId, float] = MappingProxyType({})
    later: Mapping[MemoryId, Sequence[MemoryId]] = MappingProxyType({})
    newest: Newest = Newest()


def search(
    query: Query,
    store: Store,
    embedders: Callable[[], Embedders],
    gate_options: GateOptions,
    fusing: Fusing,
    *,
    now: Callable[[], datetime],
    backfill: Callable[[int], Backfilled | None],
) -> Answer:
    """
    Answer a query. If it needs vectors, queued chunks are embedded first, as far as `backfill` allows; see `Evidence`.

    Raises:
        EmbedError, SpaceMismatch: Only in mode VECTOR or HYBRID, unless the query is `asked`. Other searches answer by
            keyword, with a notice.
        StoreError: The store cannot be read.
    """
    trace = Trace()
    wanted = without_excluded(query, trace)
    evidence = first_look(Evidence(wanted, store, cache(embedders), fusing, backfill, trace, gate_options, now))
    while True:
        try:
            # Whatever is shown together was read together: all steps but one read the same snapshot of the store.
            with ExitStack() as snapshot:
                snapshot.enter_context(store.snapshot())
                while True:
                    # 1. Plan: what the words weigh here, and the tier that the mode asks for; TIERED leaves it to the gate.
                    evidence, tier = plan(evidence)

                    # 2. Keywords in scope, first because they are exact and cost next to nothing.
                    if tier not in ASKED:
                        evidence, look = keywords(evidence)

                    # 3. Judge whether they are enough: most queries need no model, which takes longer than all the rest.
                    if tier is None:
                        evidence, tier, look = judge(evidence, look)
                    if tier is not Tier.KEYWORD:
                        from memory.search import vectors  # an answer by keyword does without

                    # What nobody knows a word of is told so: what is near to no word is near to anything.
                    if tier is not Tier.KEYWORD and unknown(evidence):
                        evidence, look = keywords(evidence._replace(terms=()))
                        tier, evidence = Tier.KEYWORD, evidence._replace(verdict=UNHEARD)

                    # 4. Guess the query's vector by the store's own term vectors, where that is enough or all there is.
                    if tier is Tier.DISTILLED:
                        evidence, look = vectors.guess(evidence, look)

                    # 5. Ask the model, between two snapshots because it may take seconds. Keywords and verdict are kept:
                    # they are why it was asked, and it is asked once.
                    if tier in ASKED and evidence.vector is None and not evidence.bare:
                        snapshot.close()
                        evidence = vectors.ask(evidence)
                        snapshot.enter_context(store.snapshot())
                        continue

                    # 6. Merge what is near to the query's vector with what keywords found, 0.7 to 0.3.
                    if tier in ASKED:
                        evidence, look = vectors.merge(evidence, tier)

                    # 7. Shape passages of the size asked for. Of many chunks of one memory, or where others deleted some while
                    # the model was at work, too few are left: then look again.
                    evidence, shown = shape(evidence, look)
                    if shown is not None:
                        break
                worth = trusted(evidence, shown.own or shown.hits, look.tier)
            break
        except NotFound as error:  # the generation of vectors was retired, and another took its place
            evidence = anew(evidence, error)
    if query.topup and len(shown.passages) < query.limit:
        from memory.search.topup import filled

        evidence, shown = filled(evidence, shown)
    hits = completed(evidence, shown)
    log = tuple(trace.steps), tuple(dict.fromkeys(trace.notices))
    return Answer(query, hits, look.tier, evidence.verdict, evidence.terms, *log, *worth)


def without_excluded(query: Query, trace: Trace) -> Query:
    """The query without the words that it excludes, in a scope that leaves out what holds them."""
    text = query.text
    if not query.excludes or not (text.startswith("-") or any(sign in text for sign in (" -", "\t-", "NOT"))):
        return query
    from memory.text.terms import excluded

    text, words = excluded(text)
    if not words:
        return query
    named = ", ".join(f'"{word}"' for word in words)
    hint = "To look for a word with a dash, put both in quotation marks."
    trace.notice(f"memories that contain {named} are left out", hint)
    return replace(query, text=text, scope=query.scope._replace(without=query.scope.without.union(words)))


def first_look(evidence: Evidence) -> Evidence:
    """The evidence before its first look, which is as deep as the limit and the gate need."""
    sections = SECTIONS_OF if evidence.query.granularity is Granularity.MEDIUM else 1
    first = max(DEPTH, sections * evidence.query.limit, evidence.gate.enough)
    return evidence._replace(first=first, depth=first)


def anew(evidence: Evidence, error: NotFound) -> Evidence:
    """
    The evidence without what was read of a generation of vectors that was retired: another took its place.

    Raises:
        NotFound: The error, if that happened in every attempt.
    """
    if evidence.retired == ATTEMPTS - 1:
        raise error
    return with_term_vectors(evidence.without_words()._replace(vector=None, retired=evidence.retired + 1))


def plan(evidence: Evidence) -> tuple[Evidence, Tier | None]:
    """The evidence with the words of the query, if any are looked for; and the tier of the mode, None to leave it open."""
    mode = evidence.query.mode
    gated = mode is Mode.TIERED
    if mode in {Mode.VECTOR, Mode.HYBRID} and evidence.query.asked:
        # Such a query does without a model that fails; and where nothing is in scope, it needs none.
        gated = not model_answers(evidence) and not (evidence.vector is None and evidence.bare)
    if not evidence.planned:
        evidence = look_up(evidence) if gated or mode is not Mode.VECTOR else with_term_vectors(evidence)
    if gated and mode is not Mode.TIERED:
        without_model(evidence)
    return evidence, None if gated else Tier(mode)


def keywords(evidence: Evidence) -> tuple[Evidence, Look]:
    """The answer by keyword, as deep as the limit needs."""
    words = ranked(evidence, evidence.depth)
    if not words.ranking.chunks:
        evidence = widened(evidence, evidence.depth)
        words = evidence.words if evidence.words.ranking.chunks else words
    more = len(words.ranking.chunks) >= words.depth
    look = Look(Tier.KEYWORD, words.ranking, {"keyword": words.ranking}, more, proximity=words.proximity)
    return evidence._replace(words=words), look


def judge(evidence: Evidence, look: Look) -> tuple[Evidence, Tier, Look]:
    """
    The evidence with the gate's verdict on what keywords found; how far to go; and the look, or the distilled one in its
    place, if that was made and is enough.

    Without a model, what would need it goes as far as term vectors do, but for the documented gate.
    """
    if evidence.gate.effort is None and evidence.embedders().enabled:
        evidence = evidence._replace(gate=evidence.gate.priced(evidence.embedders().call_price))
    answer = look
    words = [term._replace(weight=term.longer or term.weight) for term in evidence.terms]
    # Words of which only longer ones were found are weaker evidence, and the gate decides without them.
    longer = any(term.longer for term in evidence.terms)
    found, proximity = without_longer(evidence, len(look.ranking)) if longer else (look.ranking, look.proximity)

    def sign(weight: float, enough: float) -> float | None:
        nonlocal evidence, answer
        from memory.search import vectors

        if (near := vectors.near_guess(evidence)) is None:
            return None
        first, near = vectors.sign(evidence, near, found[:DEPTH], weight)
        if first < enough:  # so that most answers need not be made
            return first
        evidence, merged = vectors.merged_with(evidence, near)
        least = min(first, vectors.sign(evidence, merged.near or near, merged.ranking[:DEPTH], weight)[0])
        answer = merged if least >= enough else look
        return least

    decided = partial(judged, words, found, evidence.gate, proximity=proximity)
    verdict = evidence.verdict
    if verdict is None or not evidence.carried:  # else it was why the model was asked
        own = evidence.outset()
        if own.fit is None:
            verdict = decided()
        else:
            verdict = decided(distilled=sign, vectors=evidence.store.generations.centre(own.generation)[1])
    if not look.ranking.chunks and verdict.tier is not Tier.KEYWORD and evidence.bare:
        verdict = verdict._replace(enough=True, why="nothing is in scope", tier=Tier.KEYWORD)
    if verdict.tier is Tier.DISTILLED and evidence.guess() is None:  # it knows too little of the query
        verdict = decided()
        verdict = verdict._replace(why=f"{UNKNOWN}; {verdict.why}")
    tier = verdict.tier
    if tier is Tier.HYBRID and not model_answers(evidence):
        if evidence.failure:
            without_model(evidence)
        tier = Tier.KEYWORD if evidence.gate.gate is Gate.COUNT else Tier.DISTILLED
    return evidence._replace(verdict=verdict), tier, answer


UNHEARD = Verdict(True, "neither the index nor the model knows a word of the query", 0, 0, 0.0, 0.0, Tier.KEYWORD)


def unknown(evidence: Evidence) -> bool:
    """Whether neither the index nor the model knows a word of the query, as far as that can be told."""
    if evidence.vector is not None or evidence.fusing.documented or any(term.rows for term in evidence.terms):
        return False
    text, keywords = evidence.query.text, evidence.store.keywords
    words = evidence.terms or keywords.weigh(terms(text))
    if not words or any(term.rows or term.cut for term in words) or not model_answers(evidence):
        return False
    if evidence.embedders().knows(text):
        return False
    evidence.trace.notice(UNHEARD.why, "Ask in other words; `memory list` shows what is there.")
    return True


def model_answers(evidence: Evidence) -> bool:
    """Whether the configuration names an embedder, and it has not failed."""
    return evidence.failure is None and evidence.embedders().enabled


def without_model(evidence: Evidence, what: str = "without the model") -> None:
    """Say why no model is asked."""
    error = evidence.failure
    evidence.trace.notice(f"{what}: {error or 'no embedder is configured'}", error.hint if error else "")
