"""Mistakes in moving a store to another."""

from __future__ import annotations

from mutants_table.mutant import Mutant

MOVING = (
    Mutant(
        "move-is-not-overtaken",
        "if found is None or found._replace(ended=False) != self._arrival:",
        "if found is None:",
        "test_migrate.py",
    ),
    Mutant(
        "move-takes-any-target",
        "if former is None and any(target.tables.rows(one, one.key, limit=1) for one in _every(target)):",
        "if former is None and not _every(target):",
        "test_migrate.py",
    ),
    Mutant(
        "move-lets-others-change-its-target",
        "            self._to.set_arrival(self._arrival._replace(ended=ended))",
        "            self._to.set_arrival(self._arrival._replace(ended=True))",
        "test_migrate.py",
    ),
    Mutant(
        "move-takes-nothing-away",
        "if gone := [row[: len(table.key)] for row in rows if row not in there]:",
        "if gone := [row[: len(table.key)] for row in rows if not there]:",
        "test_migrate.py",
    ),
    Mutant(
        "move-forgets-which-ids-were-given",
        "self._to.skip(self._from.numbers())",
        "self._to.skip({})",
        "test_migrate.py",
    ),
    Mutant(
        "move-changes-nothing",
        "if there.get(row[:width], row) != row]",
        "if row[:width] not in there]",
        "test_migrate.py",
    ),
    Mutant(
        "move-leaves-writers-be",
        "stack.enter_context(source.transaction(durable=False))",
        "stack.enter_context(source.snapshot())",
        "test_migrate.py",
    ),
    Mutant(
        "move-brings-memories-in-pieces",
        "for own in owned(self._living) if lacking and table == MEMORIES else ():",
        "for own in ():",
        "test_migrate.py",
    ),
    Mutant(
        "comparison-forgets-what-belongs-to-a-memory",
        'hashes[owner].update(repr((table.name, row)).encode("utf-8", "surrogatepass"))',
        "hashes[owner].update(table.name.encode())",
        "test_migrate.py",
    ),
    Mutant(
        "older-columns-are-null",
        '(table, column): default or "null"',
        '(table, column): "null"',
        "test_formats.py",
    ),
    Mutant(
        "older-table-is-left-out",
        '(len(defaults) < len(lacking) and table.name.startswith("lexicon"))',
        "len(defaults) < len(lacking)",
        "test_formats.py",
    ),
    Mutant(
        "older-log-is-folded",
        "if not (self._cut or self.older):",
        "if not self._cut:",
        "test_formats.py",
    ),
    Mutant(
        "older-file-is-replaced-while-open",
        "        for path in (self.path, new):\n            _closed(path)\n",
        "",
        "test_migrate.py",
    ),
    Mutant(
        "older-file-is-replaced-though-written-to",
        "if self._states() != self._seen:",
        "if not self._states():",
        "test_migrate.py",
    ),
    Mutant(
        "kept-file-is-replaced",
        "            if not (kept.exists() and kept.samefile(old)):  # as after an interruption\n                os.link(old, kept)",
        "            kept.unlink(missing_ok=True)\n            os.link(old, kept)",
        "test_migrate.py",
    ),
)
