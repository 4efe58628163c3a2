"""`MemoryStore`: a LangGraph store whose items are memories. Needs the extra `langgraph`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from memory import AsyncEngine, Invalid, KeyedStore, Put

try:
    from langgraph.store.base import (
        BaseStore,
        GetOp,
        Item,
        ListNamespacesOp,
        PutOp,
        SearchItem,
        SearchOp,
        get_text_at_path,
    )
except ImportError as error:
    raise ImportError("MemoryStore needs LangGraph: pip install 'tiermem[langgraph]'") from error

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from langgraph.store.base import IndexConfig, MatchCondition, Op, Result, TTLConfig

    from memory import Config, KeyedItem

MOST = 10_000  # items of one answer


class MemoryStore(BaseStore):
    """
    A LangGraph store over a memory.

        >>> with MemoryStore.open(index={"fields": ["text"]}) as store:
        ...     graph = builder.compile(store=store)

    Each item is a memory of kind `item`, which `memory search` finds too. A batch reads the state before it, then writes all
    its puts in one transaction.

    A search with a query returns its hits, best first, and fills up to the limit with other items that match the filter,
    without a score, as `InMemoryStore` does. Filters are those of `memory.KeyedStore.search`.
    """

    supports_ttl = True

    def __init__(self, items: KeyedStore, *, index: IndexConfig | None = None, ttl: TTLConfig | None = None) -> None:
        """
        Args:
            items: The store of the items. The caller closes it.
            index: `fields` selects the parts of a value that search reads, unless a put selects them; all by default. `embed`
                and `dims` are ignored: the memory's own embedder is used.
            ttl: How long items last by default. Expired items are left out at once.
        """
        self.items, self.index_config, self.ttl_config = items, index, ttl
        self._waiting = AsyncEngine(lambda: items.engine)

    @classmethod
    def open(
        cls,
        config: Config | str | None = None,
        *,
        home: str | Path | None = None,
        index: IndexConfig | None = None,
        ttl: TTLConfig | None = None,
    ) -> Self:
        """Open a store with its own memory, which `close` closes; see `memory.Engine.open`."""
        return cls(KeyedStore.open(config, home=home), index=index, ttl=ttl)

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        results: list[Result] = []
        puts: dict[tuple[tuple[str, ...], str], PutOp] = {}
        for op in ops:
            match op:
                case GetOp():
                    item = self.items.get(op.namespace, op.key, refresh=op.refresh_ttl)
                    results.append(None if item is None else Item(**_fields(item)))
                case SearchOp():
                    results.append(self._found(op))
                case ListNamespacesOp():
                    results.append(self._namespaces(op))
                case PutOp():
                    puts[op.namespace, op.key] = op
                    results.append(None)
                case _:
                    raise ValueError(f"Unknown operation type: {type(op)}")
        self.items.put_all([self._put(op) for op in puts.values() if op.value is not None])
        for op in puts.values():
            if op.value is None:
                self.items.delete(op.namespace, op.key)
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        every = list(ops)
        return await self._waiting.run(lambda _engine: self.batch(every))

    def sweep_ttl(self) -> int:
        """Delete expired items for good and return how many. Each put deletes some too."""
        return self.items.sweep()

    def close(self) -> None:
        """Close the memory."""
        self.items.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _put(self, op: PutOp) -> Put:
        if not hasattr(op.value, "items"):
            raise Invalid(f"a value is a dictionary, not {op.value!r:.80}")
        value = dict(op.value or {})
        seconds = None if op.ttl is None else op.ttl * 60
        return Put(op.namespace, op.key, value, text=self._text(value, op.index), ttl=seconds)

    def _text(self, value: dict[str, Any], index: Any) -> str | None:
        """The text of a value that search reads; None for all of it."""
        fields = (self.index_config or {}).get("fields") if index is None else index
        if fields is False:
            return ""
        if not fields or "$" in fields:
            return None
        return "\n".join(text for field in fields for text in get_text_at_path(value, field))

    def _found(self, op: SearchOp) -> list[SearchItem]:
        wanted = min(MOST, op.offset + op.limit)
        if wanted < 1:
            return []
        asked: dict[str, Any] = {"filter": op.filter, "limit": wanted}
        hits = self.items.search(op.namespace_prefix, query=op.query, **asked)
        if op.query and len(hits) < wanted:
            known = {one[:2] for one in hits}
            others = self.items.search(op.namespace_prefix, **asked)
            hits = [*hits, *(one for one in others if one[:2] not in known)]
        shown = hits[op.offset : wanted]
        if op.refresh_ttl:
            shown = self.items.refreshed(shown)
        return [SearchItem(**_fields(one), score=one.score) for one in shown]

    def _namespaces(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        conditions = op.match_conditions or ()
        prefix = next((_plain(one.path) for one in conditions if one.match_type == "prefix"), ())
        every: list[tuple[str, ...]] = []
        while page := self.items.list_namespaces(prefix, limit=MOST, offset=len(every)):
            every += page
        matching = {one[: op.max_depth] for one in every if all(_matches(condition, one) for condition in conditions)}
        return sorted(matching)[op.offset : op.offset + op.limit]


def _fields(item: KeyedItem) -> dict[str, Any]:
    """The fields of an item. A text, which another program saved, becomes an object with one field."""
    value = {"text": item.value} if isinstance(item.value, str) else item.value
    fields = {"namespace": item.namespace, "key": item.key, "value": value}
    return fields | {"created_at": item.created_at, "updated_at": item.updated_at}


def _plain(path: Sequence[str]) -> tuple[str, ...]:
    """The labels before the first wildcard."""
    labels = tuple(path)
    return labels[: labels.index("*")] if "*" in labels else labels


def _matches(condition: MatchCondition, namespace: tuple[str, ...]) -> bool:
    path = tuple(condition.path)
    if len(namespace) < len(path):
        return False
    part = namespace[: len(path)] if condition.match_type == "prefix" else namespace[len(namespace) - len(path) :]
    return all(wanted in {"*", label} for label, wanted in zip(part, path, strict=True))
