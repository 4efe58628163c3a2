"""Values under a program's own keys: `KeyedStore` saves each as a memory, which search finds like any other."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeAlias

from memory.schema.draft import Draft, leaves
from memory.schema.errors import BODY_LIMIT, TITLE_LIMIT, Invalid, StoreBusy
from memory.schema.item import check_key, check_namespace, condition, key_of, labels, path
from memory.schema.kinds import Kind
from memory.schema.query import Mode, Query, Scope, check_limit
from memory.store import Match

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from datetime import datetime
    from pathlib import Path

    from memory.config import Config
    from memory.engine import Engine
    from memory.schema.memory import Details, Json, Memory, MemoryId

PAGE = 500  # items read at once for a filter
SWEPT = 20
"""The most expired items that a put deletes."""

Place: TypeAlias = "tuple[Sequence[str], str]"
"""A namespace, and a key in it."""

LONGEST = 36_500 * 86_400  # seconds; the longest lifetime


class KeyedItem(NamedTuple):
    """
    A value with its key, as `KeyedStore` returns it.

    Attributes:
        value: Text, or a dictionary of JSON values.
        created_at, updated_at: UTC.
        expires_at: When it expires, UTC; None if never.
        ttl: Lifetime in seconds, as given to `put`; None if not given.
        memory: Id of the memory that holds the value.
        score: `Hit.score` of a search with a query, 0..1; else None.
    """

    namespace: tuple[str, ...]
    key: str
    value: str | dict[str, Json]
    created_at: datetime
    updated_at: datetime
    expires_at: datetime | None
    ttl: float | None
    memory: MemoryId
    score: float | None = None


class Put(NamedTuple):
    """A value to save with `KeyedStore.put_all`; the fields are the arguments of `KeyedStore.put`."""

    namespace: Sequence[str]
    key: str
    value: str | Mapping[str, Json]
    text: str | None = None
    expires_at: datetime | None = None
    ttl: float | None = None


class KeyedStore:
    """
    A key-value store with namespaces, whose values can be searched.

        >>> with KeyedStore.open() as items:
        ...     items.put(("users", "ann"), "tea", {"likes": "green tea", "cups": 2})
        ...     items.search(("users",), query="what does she drink", filter={"cups": {"$gte": 1}})

    Each value is a memory of kind `item`: `Engine.search` finds it, and it is exported, undone and deleted like any
    memory. Secrets in values are replaced by markers before they are saved.

    A namespace is a tuple of non-empty texts: ("users", "ann"). Lookups by the beginning of a namespace use an index.
    Safe to use from several threads, and alongside other processes.
    """

    def __init__(self, engine: Engine, *, project: str | None = None) -> None:
        """
        Args:
            engine: An open engine, which the caller closes; `close` closes it too.
            project: The project of the memories that hold the values.
        """
        self.engine, self._project = engine, project
        self._store, self._documents = engine.store, engine.documents

    @classmethod
    def open(
        cls, config: Config | str | None = None, *, home: str | Path | None = None, project: str | None = None
    ) -> Self:
        """Open a store with its own engine, which `close` closes; arguments and errors as for `Engine.open`."""
        from memory.engine import Engine

        return cls(Engine.open(config, home=home), project=project)

    def put(
        self,
        namespace: Sequence[str],
        key: str,
        value: str | Mapping[str, Json],
        *,
        text: str | None = None,
        expires_at: datetime | None = None,
        ttl: float | None = None,
    ) -> KeyedItem:
        """
        Save a value under a key; it replaces the earlier value.

        Args:
            namespace: Non-empty texts, at most 300 characters together.
            key: At most 300 characters.
            value: Text, which may be empty, or a dictionary of JSON values; at most 500,000 characters, as JSON for a
                dictionary.
            text: The text by which search finds a dictionary; None takes all its texts and numbers. If "", only the key
                finds it.
            expires_at: When the value expires. From then on no call returns it; a later `put` or `sweep` deletes it.
            ttl: Lifetime in seconds, above 0 and at most 100 years, instead of `expires_at`.

        Returns:
            The item as saved.

        Raises:
            Invalid: An argument is not valid, or the key or namespace looks like a secret. Nothing was saved.
            StoreBusy, StoreFull, StoreReadOnly: The database could not be written. Nothing was saved.
        """
        return self.put_all([Put(namespace, key, value, text, expires_at, ttl)])[0]

    def put_all(self, puts: Sequence[Put]) -> list[KeyedItem]:
        """Save several values in one transaction, all or none; the last one of a key wins. See `put`."""
        if not puts:
            return []
        now = self._documents.now()
        saved = self._documents.keep([self._draft(one, now) for one in puts])
        self.sweep(SWEPT)
        memories = [one.memory for one in saved]
        return self._items(memories)

    def _draft(self, put: Put, now: datetime) -> Draft:
        self._check_place(put.namespace, put.key)
        metadata: dict[str, Json] = {"namespace": [*put.namespace], "key": put.key}
        expires_at = put.expires_at
        if put.ttl is not None:
            if not isinstance(put.ttl, (int, float)) or isinstance(put.ttl, bool) or not 0 < put.ttl <= LONGEST:
                raise Invalid(f"ttl is seconds, above 0 and at most {LONGEST:,}, not {put.ttl!r}")
            if expires_at is not None:
                raise Invalid("expires_at and ttl exclude each other: give one")
            metadata["ttl"] = put.ttl
            expires_at = now + timedelta(seconds=put.ttl)
        if isinstance(put.value, str):
            if put.text is not None:
                raise Invalid("text selects which part of an object is searched; a text is searched whole")
            body = put.value
        else:
            if not hasattr(put.value, "items"):
                raise Invalid(f"a value is a text or an object, not {put.value!r:.80}")
            metadata["value"] = dict(put.value)
            body = "\n".join(leaves(metadata["value"])) if put.text is None else put.text
            body = body.replace("\0", " ")[:BODY_LIMIT]
        return Draft(
            kind=Kind.ITEM,
            title=_title(put.key),
            body=body,
            metadata=metadata,
            project=self._project,
            keyword_only=not body,
            valid_until=expires_at,
        )

    def _check_place(self, namespace: Sequence[str], key: str) -> None:
        check_namespace(namespace)
        check_key(key)
        for one in (*namespace, key):
            if self._documents.clean(one) != one:
                raise Invalid("a key or a namespace looks like a secret: secrets are never saved")

    def get(self, namespace: Sequence[str], key: str, *, refresh: bool = False) -> KeyedItem | None:
        """
        The item under a key; None if there is none, or it has expired.

        Args:
            refresh: Restart the lifetime of an item that has a `ttl`.

        Raises:
            Invalid: The namespace or the key is not valid.
        """
        check_namespace(namespace)
        check_key(key)
        (memory,) = self._store.memories.find([Match({"kind": Kind.ITEM, "namespace": path(namespace), "key": key})])
        if memory is None or memory.ended(self._documents.now()):
            return None
        (item,) = self._items([memory])
        return self.refreshed([item])[0] if refresh else item

    def refreshed(self, items: Sequence[KeyedItem]) -> list[KeyedItem]:
        """Restart the lifetime of items that have a `ttl`, unless the database is busy; returns all items in order."""
        now = self._documents.now()
        lasting = []
        for item in items:
            until = item.expires_at if item.ttl is None else now + timedelta(seconds=item.ttl)
            with suppress(StoreBusy):
                if until != item.expires_at:
                    self._store.memories.hold(item.memory, until)
            lasting.append(item._replace(expires_at=until))
        return lasting

    def delete(self, namespace: Sequence[str], key: str) -> bool:
        """
        Move the item under a key to the trash; returns whether there was one.

        Raises:
            Invalid: The namespace or the key is not valid.
        """
        if (item := self.get(namespace, key)) is None:
            return False
        self.engine.trash.delete(item.memory)
        return True

    def move(self, places: Sequence[tuple[Place, Place]]) -> int:
        """
        Move values to other keys, all or none; returns how many existed. Their memories keep their id and history.

        Args:
            places: For each value its (namespace, key), and the new (namespace, key).

        Raises:
            Invalid: A namespace or a key is not valid, or a new one is in use.
            StoreBusy: Other processes kept changing the items.
        """

        def changes() -> list[tuple[Details, dict[str, Any]]]:
            moved = []
            for (namespace, key), (other, name) in places:
                self._check_place(other, name)
                item = self.get(namespace, key)
                if item is not None and (details := self._store.memories.details(item.memory)) is not None:
                    metadata = {**details.memory.metadata, "namespace": [*other], "key": name}
                    moved.append((details, {"metadata": metadata, "title": _title(name)}))
            return moved

        return len(self._documents.revise_all(changes, "the item is"))

    def search(
        self,
        prefix: Sequence[str] = (),
        *,
        query: str | None = None,
        filter: Mapping[str, Any] | None = None,
        limit: int = 10,
        offset: int = 0,
        reverse: bool = False,
    ) -> list[KeyedItem]:
        """
        Find items in the namespaces that begin with a prefix.

        Args:
            prefix: The first labels of the namespaces; () searches all.
            query: Text to search for, best item first. Without one, items are sorted by namespace and key, by code
                point.
            filter: Conditions on fields of the value, all of which must be met: a JSON value, or operators as in
                {"cups": {"$gte": 1, "$ne": 3}}. The operators are $eq, $ne, $gt, $gte, $lt, $lte and $in. The ordering
                ones compare numbers with numbers and texts with texts; other types and missing fields do not match.
            limit: Maximum number of items, 1..10,000.
            offset: Number of items to skip, from 0.
            reverse: Reverse the order of a search without a query.

        Raises:
            Invalid: An argument is not valid.
        """
        check_namespace(prefix, least=0)
        check_limit(limit)
        if not isinstance(offset, int) or isinstance(offset, bool) or offset < 0:
            raise Invalid(f"offset is a whole number from 0, not {offset!r}")
        holds = condition(filter) if filter else None
        if query is not None and query.strip():
            return self._sought(prefix, query, holds, limit, offset)
        if holds is None:
            ids = self._ids(prefix, limit, offset=offset, reverse=reverse)
        else:
            ids = [*islice(self._met(self._ids(prefix, reverse=reverse), holds), offset, offset + limit)]
        there = self._store.memories.by_id(ids)
        return self._items([there[id] for id in ids if id in there])

    def _ids(
        self, prefix: Sequence[str], limit: int | None = None, *, offset: int = 0, reverse: bool = False
    ) -> Sequence[MemoryId]:
        return self._store.memories.items(path(prefix), self._documents.now(), limit, offset=offset, reverse=reverse)

    def _met(self, ids: Sequence[MemoryId], holds: Callable[[object], bool]) -> Iterator[MemoryId]:
        """Those of some items whose value meets a filter, in the same order."""
        for start in range(0, len(ids), PAGE):
            page = ids[start : start + PAGE]
            metadata = self._store.memories.metadata(page)
            yield from (id for id in page if id in metadata and holds(metadata[id].get("value")))

    def _sought(
        self, prefix: Sequence[str], text: str, holds: Callable[[object], bool] | None, limit: int, offset: int
    ) -> list[KeyedItem]:
        """The items that a query finds, best first."""
        scope = Scope(kinds=frozenset({Kind.ITEM}))
        if prefix or holds is not None:
            ids = self._ids(prefix)
            among = frozenset(ids if holds is None else self._met(ids, holds))
            scope = scope._replace(among=among)
            if not among:
                return []
        mode = Mode(self.engine.config.search.mode)
        # Equal values under two keys are two items; and hyphens in a program's query exclude nothing.
        query = Query(text, offset + limit, mode=mode, scope=scope, excludes=False, duplicates=True)
        hits = self.engine.search(query).hits[offset:]
        items = self._items([hit.memory for hit in hits])
        return [item._replace(score=hit.score) for item, hit in zip(items, hits, strict=True)]

    def list_namespaces(
        self, prefix: Sequence[str] = (), *, max_depth: int | None = None, limit: int = 100, offset: int = 0
    ) -> list[tuple[str, ...]]:
        """
        The namespaces that begin with a prefix and contain an item, sorted.

        Args:
            prefix: The first labels of the namespaces; () lists all.
            max_depth: Cut namespaces to this number of labels, from 1, and list each result once.
            limit: Maximum number of namespaces, 1..10,000.
            offset: Number of namespaces to skip.

        Raises:
            Invalid: An argument is out of range.
        """
        check_namespace(prefix, least=0)
        check_limit(limit)
        if max_depth is not None and max_depth < 1:
            raise Invalid(f"max_depth is a whole number from 1, not {max_depth!r}")
        paths = self._store.memories.namespaces(path(prefix), self._documents.now())
        return sorted({labels(one)[:max_depth] for one in paths})[offset : offset + limit]

    def sweep(self, limit: int | None = None) -> int:
        """
        Permanently delete expired items; returns how many.

        Args:
            limit: Maximum number to delete; None deletes all.
        """
        from memory.keep.removing import purge

        ended, now, swept = self._store.memories.ended_items, self._documents.now(), 0
        while (most := PAGE if limit is None else min(PAGE, limit - swept)) and ended(now, 1):  # most stores have none
            with self._store.transaction():
                swept += purge(self._store, ended(now, most))
        return swept

    def _items(self, memories: Sequence[Memory]) -> list[KeyedItem]:
        texts = [one.id for one in memories if "value" not in one.metadata and one.body_size]
        bodies = self._store.memories.bodies(texts) if texts else {}
        return [
            KeyedItem(
                labels(one.namespace or ""),
                key_of(one.metadata) or "",
                bodies.get(one.id, "") if (value := value_of(one)) is None else value,
                one.created_at,
                one.updated_at,
                one.valid_until,
                ttl if isinstance(ttl := one.metadata.get("ttl"), (int, float)) else None,
                one.id,
            )
            for one in memories
        ]

    def close(self) -> None:
        """Close the engine."""
        self.engine.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _title(key: str) -> str:
    return " ".join(key.split())[:TITLE_LIMIT] or "item"


def value_of(memory: Memory) -> dict[str, Json] | None:
    """The dictionary that an item holds; None if it holds text."""
    value = memory.metadata.get("value")
    return value if isinstance(value, dict) else None
