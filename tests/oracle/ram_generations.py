"""`RamGenerations`: which sets of vectors there are, the obvious way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.schema.errors import iso
from memory.store import LEAST, UNAIDED, Generation, Outset, Size, State
from oracle.ram_chunks import embedded, total
from oracle.ram_data import Part
from oracle.ram_queue import requeue
from oracle.ram_term_vectors import forget

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from memory.schema.space import Plain, Space, Vectors
    from oracle.ram_data import Data


class RamGenerations(Part):
    """See `memory.store.generations.Generations`."""

    def every(self) -> Sequence[Generation]:
        with self.data.lock:
            known = {id: one._replace(vectors=total(self.data, id)[1]) for id, (one, _) in self.data.strangers.items()}
            return [one._replace(strangers=known.get(one.id)) for one in self.data.generations.values()]

    def active(self) -> Generation | None:
        return next((one for one in self.every() if one.state is State.ACTIVE), None)

    def strangers(self, generation: int) -> Vectors | None:
        with self.data.lock:
            return self.data.strangers[generation][1].copy() if generation in self.data.strangers else None

    def outset(self) -> Outset:
        with self.data.lock:
            ends = [iso(one.valid_until) for one in self.data.memories.values() if one.valid_until is not None]
            return Outset(*self.answering(), min(ends, default=None), bool(self.data.queue))

    def answering(self) -> tuple[int, float | None]:
        with self.data.lock:
            active = next((one.id for one in self.data.generations.values() if one.state is State.ACTIVE), 0)
            learned = self.data.learned.get(active)
            least = LEAST if learned and learned.prior.words else UNAIDED
            return active, None if learned is None or learned.passages < least else learned.fit

    def centre(self, generation: int) -> tuple[Plain, int]:
        with self.data.lock:
            return total(self.data, generation)

    def begin(self, space: Space, moment: datetime, *, alone: bool = False) -> Generation:
        del moment  # nobody is told
        with self.data.change() as data:
            for old in list(data.generations.values()):
                if alone and old.state is State.RETIRED and old.space != space:
                    _drop(data, old.id)
            if (found := living(data, space)) is not None:
                return found
            state = State.BUILDING if _in_state(data, State.ACTIVE) else State.ACTIVE
            if (unfinished := _in_state(data, State.BUILDING)) is not None:
                _drop(data, unfinished.id)
            retired = [old for old in data.generations.values() if (old.state, old.space) == (State.RETIRED, space)]
            new = retired[-1] if retired else Generation(data.next("generation"), space, state)
            data.generations[new.id] = new._replace(state=state)
            if state is State.ACTIVE:
                requeue(data, new.id)
            return data.generations[new.id]

    def activate(self, generation: int, *, instead_of: int | None, former: State = State.RETIRED) -> bool:
        with self.data.change() as data:
            data.generation(generation)
            before = _in_state(data, State.ACTIVE)
            if (before.id if before else None) != instead_of:
                return False
            if before is not None and before.id == generation:
                return True
            unfinished = _in_state(data, State.BUILDING)
            if former is State.BUILDING and unfinished is not None and unfinished.id != generation:
                _drop(data, unfinished.id)
            if before is not None:
                data.generations[before.id] = before._replace(state=former)
            data.generations[generation] = data.generations[generation]._replace(state=State.ACTIVE)
            data.queue = {}
            requeue(data, generation)
            return True

    def size(self, generation: int) -> Size:
        with self.data.lock:
            terms = sum(own == generation for own, _ in self.data.term_vectors)
            return Size(len(embedded(self.data, generation)), terms)

    def mark(self, generation: int, fingerprint: bytes, *, instead_of: bytes = b"") -> None:
        with self.data.change() as data:
            found = data.generations.get(generation)
            if found is None or found.fingerprint != instead_of:
                return
            data.generations[generation] = found._replace(fingerprint=fingerprint)
            if instead_of:
                _empty(data, generation)
                if found.state is State.ACTIVE:
                    requeue(data, generation)


def living(data: Data, space: Space) -> Generation | None:
    """Of a space the generation that takes vectors."""
    found = (_in_state(data, State.ACTIVE), _in_state(data, State.BUILDING))
    return next((generation for generation in found if generation is not None and generation.space == space), None)


def _in_state(data: Data, state: State) -> Generation | None:
    return next((found for found in data.generations.values() if found.state is state), None)


def _drop(data: Data, generation: int) -> None:
    del data.generations[generation]
    _empty(data, generation)


def _empty(data: Data, generation: int) -> None:
    forget(data, generation)
    forget(data, -generation)
    data.vectors = {key: vector for key, vector in data.vectors.items() if key[0] != generation}
    data.begun = {key: one for key, one in data.begun.items() if key[0] != generation}
    data.strangers = {id: one for id, one in data.strangers.items() if id != generation}
