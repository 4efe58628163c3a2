"""What looks after a memory: embedding, reindexing, the ledger, its state. The part of `Engine` that is not daily use."""

from __future__ import annotations

import sys
from datetime import UTC, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any

from memory.engine.embedding import Beside, told
from memory.schema.errors import NotFound, Refused, StoreBusy, StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from datetime import datetime

    from memory.engine.doctor import Finding
    from memory.engine.statistics import Statistics
    from memory.engine.status import Embedding, Status
    from memory.schema.backfill import Backfilled
    from memory.schema.memory import Memory, MemoryId
    from memory.schema.query import Answer, Searched, Step
    from memory.schema.space import Space
    from memory.schema.usage import Call
    from memory.store import Links, Whole
    from memory.write.backfill import Backfill
    from memory.write.estimate import Forecast
    from memory.write.jsonl import Exported
    from memory.write.reindex import Reindexed, RolledBack
    from memory.write.sanitize import Sanitizer
    from memory.write.save import Plan, Saved, Saving


UPDATES = 50
"""How often an update begins anew when others change the memory under its hands."""


def _silent(_done: int, _total: int) -> None:
    """Nobody watches."""


class Care(Beside):
    """Base of `memory.engine.Engine`."""

    @cached_property
    def _sanitizer(self) -> Sanitizer:
        from memory.write.sanitize import Sanitizer

        return Sanitizer(self.config.folder, self._aliases)

    @cached_property
    def _aliases(self) -> Mapping[str, str]:
        if not self.config.project_aliases:
            return {}
        from memory.config.project import aliases

        return aliases(self.config.project_aliases)

    def embed(
        self, progress: Callable[[int, int], None] = _silent, *, memories: Sequence[MemoryId] | None = None
    ) -> Backfilled:
        """
        Embed all that waits for a vector, also what failed before.

        Args:
            progress: Told how many chunks of how many are done.
            memories: Embed these instead, also where they have vectors.

        Raises:
            EmbedError: The model cannot be used; what was embedded is kept.
            SpaceMismatch: The stored vectors are of another model than the configured one: `reindex` is needed.
        """
        from memory.embed.purpose import EMBED
        from memory.write.backfill import Backfill, drain, reembed

        config = self.config
        backfill = Backfill(seconds=None, batch=config.embedding.batch_size, overlap=config.chunking.overlap)
        if memories is not None:
            return reembed(self._store, self._embedders, backfill, memories, moment=self._now(), progress=progress)
        result = drain(self._store, self._embedders, backfill, moment=self._now(), of=EMBED, progress=progress)
        if self._learns:
            with told("learned from"):  # what was embedded is kept
                self.learn()
        return result

    def reindex(self, progress: Callable[[int, int], None] = _silent, *, keep: bool = False) -> Reindexed:
        """
        Embed what has no vector in the configured model's space, then let that space answer.

        Args:
            progress: Told how many chunks of how many are done.
            keep: Take no vectors of earlier models away.

        Raises:
            EmbedError: The model cannot be used; what was embedded is kept, and the next call goes on there.
            StoreBusy: Another reindex, to another model, took over.
        """
        from memory.write.reindex import reindex

        batch, overlap = self.config.embedding.batch_size, self.config.chunking.overlap
        parts = (self._store, self._embedders)
        done = reindex(*parts, moment=self._now(), batch=batch, overlap=overlap, keep=keep, progress=progress)
        if self._learns:
            with told("learned from"):
                self.learn(anew=True)
        return done

    def roll_back(self) -> RolledBack:
        """
        Let the vectors answer that did before the last reindex, with their own model.

        Raises:
            NotFound: None are kept.
        """
        from memory.write.reindex import roll_back

        return roll_back(self._store)

    def clean(self, text: str) -> str:
        """
        A text without its secrets, as a save would keep it.

        Raises:
            Invalid: A `<redacted>` in it is not closed.
            ConfigError: A rule of `.memoryignore` cannot be used.
        """
        return self._sanitizer.text(text)

    def forecast(self) -> Forecast:
        """
        What `reindex` would take. Nothing is changed and nothing leaves the process.

        Raises:
            Refused: The configured model cannot be used.
        """
        from memory.write.estimate import forecast

        if not self._embedders.enabled:
            raise Refused("no embedder is configured", hint="Set `embedding.provider`, e.g. to `local`.")
        return forecast(self._store, self._embedders, moment=self._now())

    def warm_up(self) -> None:
        """
        Load the configured model if it runs in this process and takes seconds to load; others are asked when needed.

        Raises:
            EmbedError: It cannot be used.
        """
        if self._embedders.enabled and self._embedders.inside and not self._embedders.configured().warm:
            self.probe()

    def probe(self) -> Space:
        """
        Ask the configured model for a vector, and say in which space it is.

        Raises:
            EmbedError: It cannot be used; why, and what would help.
        """
        from memory.embed import PLACE, space
        from memory.embed.purpose import PROBE, purpose

        with purpose(PROBE):
            embedder = self._embedders.fresh()
            embedder.embed([PLACE], "passage")
            return space(embedder)

    def ledger(self, days: int = 30, *, each: bool = False) -> Sequence[Call]:
        """
        What was embedded, latest first: summed over each day (UTC), or each request.

        Args:
            days: How many days back, today included.
            each: Every request instead of sums; at most 10,000.
        """
        self._embedders.notes.write()
        since = self._since(days)
        return self._store.ledger(since) if each else self._store.spent(since)

    def search_statistics(self, days: int | None = None) -> Statistics:
        """
        How many searches there were, how long they took and how far they went.

        Args:
            days: How many days back, today (UTC) included; None is all that is remembered, the last 10,000 at most.
        """
        from memory.engine.statistics import statistics

        since = None if days is None else self._since(days)
        return statistics(self._store.searches(since), self.config.search.slow_seconds)

    def _since(self, days: int) -> datetime:
        """When the first of so many days (UTC) began, the last of which is today."""
        today = self._now().astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        return today - timedelta(days=min(max(1, days), 36_500) - 1)

    def _remember(self, answer: Answer) -> None:
        """Keep that there was a search, not what was asked, and warn of a slow one. None of it makes the search fail."""
        self._counted(answer.searched(self._now()), answer.steps, mode=answer.query.mode, outcome=answer.outcome)

    def _counted(self, one: Searched, steps: Sequence[Step] = (), *, mode: str = "", outcome: str = "") -> None:
        if "logging" in sys.modules:  # else nobody listens
            from memory.engine.statistics import traced

            traced(one, steps, mode=mode, outcome=outcome)
        try:
            self._store.searched(one)
        except StoreError as error:
            import logging

            logging.getLogger("memory").info("this search is not counted: %s", error)
        if one.seconds > self.config.search.slow_seconds:
            import logging

            slowest = max(steps, key=lambda step: step.seconds, default=None)
            logging.getLogger("memory").warning(
                "slow search: %s took %.3f s, tier %s, %s%s",
                *(one.type, one.seconds, one.tier, f"{one.results} results"),
                f"; the slowest step was {slowest.name}, {slowest.seconds:.3f} s" if slowest else "",
            )

    def status(self) -> Status:
        """How much is kept, which vectors there are, and what keeps the engine from doing all it could."""
        from memory.engine.status import status

        found = status(self._store, self._embedders, self.config.embedding, moment=self._now())
        problem = self._sanitizer.problem()
        return found if problem is None else found._replace(problems=(problem, *found.problems))

    def embedding(self, id: MemoryId) -> Embedding:
        """Whether a memory can be found by its meaning: "generated", "pending", "failed" or "outdated", and why."""
        from memory.engine.status import embedding

        return embedding(self._store, self._embedders, id)

    def embeddings(self, memories: Sequence[Memory]) -> Mapping[MemoryId, Embedding]:
        """The same of several, by their ids."""
        from memory.engine.status import embeddings

        return embeddings(self._store, self._embedders, memories)

    def doctor(self, *, fix: bool = False) -> tuple[Finding, ...]:
        """
        Look at everything there is, also whether the model answers, and mend what can be mended.

        Args:
            fix: Mend it; else nothing is changed.
        """
        from memory.engine.doctor import doctor

        return doctor(self._store, self._embedders, self.config, sanitizer=self._sanitizer, moment=self._now(), fix=fix)

    def _keep(self, plans: Sequence[Plan], backfill: Backfill) -> list[Saved]:
        from memory.write.save import save

        saved = save(plans, self._saving(backfill), moment=self._now())
        self._wake(backfill, len(saved))
        return saved

    def _revised(self, id: MemoryId, changes: Callable[[Whole], Mapping[str, Any]]) -> Saved:
        """
        Change a memory; begin anew if others change it meanwhile.

        Args:
            changes: Fields of a draft with their new values, given what the memory says now.
        """
        from memory.write.save import update

        for _ in range(UPDATES):
            if (former := self._store.whole(id)) is None:
                raise NotFound(f"no memory {id}")
            backfill = self._backfill()
            if saved := update(former, changes(former), self._saving(backfill), moment=self._now()):
                self._wake(backfill)
                return saved
        raise StoreBusy(f"memory {id} is changed all the time by others", hint="Try again.")

    def _saving(self, backfill: Backfill) -> Saving:
        from memory.schema.kinds import sizes
        from memory.text.tokens import tokens
        from memory.write.save import Cutting, Saving

        chunking, embedders = self.config.chunking, self._embedders
        cutting = Cutting(chunking.size, sizes(chunking.kinds), lambda: embedders.counter or tokens)
        return Saving(self._store, embedders, backfill, self._sanitizer, cutting)

    # Carrying over -------------------------------------------------------

    def exported(self, lost: Callable[[str], None] | None = None) -> Iterator[Exported]:
        """
        Every memory with all that belongs to it, oldest first.

        Args:
            lost: Told what of a damaged store cannot be read, a sentence each; what can be is exported.

        Raises:
            StoreDamaged: Something cannot be read, and nobody is told.
        """
        from memory.write.jsonl import exported

        return exported(self._store, lost)

    def restore(self, plans: Sequence[Plan]) -> list[Saved]:
        """
        Keep what an export brought, in one transaction; what is there already is left as it is.

        See `memory.write.jsonl.parsed`. `link` then says what points to what.
        """
        return self._keep(plans, self._backfill()._replace(seconds=None))

    def link(self, links: Sequence[Links]) -> None:
        """Point restored memories to their parents and successors."""
        self._store.link(links)
