"""Mistakes in moving a store to another."""

from __future__ import annotations

from mutants_table.mutant import Mutant

MOVING = (
    Mutant(
        "move-is-not-overtaken",
        "carry.migrate:_Copy._filling",
        "None or found._replace(ended=False) != self._mark",
        "None",
        "test_migrate.py",
    ),
    Mutant(
        "move-takes-any-target",
        "carry.migrate:_begun",
        "any(target.tables.rows(one, one.key, limit=1) for one in _every(target)",
        "not _every(target",
        "test_migrate.py",
    ),
    Mutant(
        "move-lets-others-change-its-target", "carry.migrate:_Copy._filling", "ended))", "True))", "test_migrate.py"
    ),
    Mutant("move-takes-nothing-away", "carry.migrate:_Copy._remove", "row not in", "not", "test_migrate.py"),
    Mutant(
        "move-forgets-which-ids-were-given", "carry.migrate:_Copy.end", "self._from.numbers()", "{}", "test_migrate.py"
    ),
    Mutant(
        "move-changes-nothing",
        "carry.migrate:_Copy._differing",
        "there.get(row[:width], row) != row",
        "row[:width] not in there",
        "test_migrate.py",
    ),
    Mutant(
        "move-leaves-writers-be", "carry.migrate:_still", "transaction(durable=False", "snapshot(", "test_migrate.py"
    ),
    Mutant(
        "move-brings-memories-in-pieces",
        "carry.migrate:_Copy._write",
        "owned(self._living) if lacking and table == MEMORIES else (",
        "(",
        "test_migrate.py",
    ),
    Mutant(
        "comparison-forgets-what-belongs-to-a-memory",
        "carry.migrate:_of_memories",
        'repr((table.name, row)).encode("utf-8", "surrogatepass"',
        "table.name.encode(",
        "test_migrate.py",
    ),
    Mutant("older-columns-are-null", "store.sqlite.tables:_defaults", 'default or "', '"', "test_formats.py"),
    Mutant(
        "older-table-is-left-out",
        "store.sqlite.tables:SqliteTables._cells",
        '(len(defaults) < len(lacking) and table.name.startswith("lexicon")',
        "len(defaults) < len(lacking",
        "test_formats.py",
    ),
    Mutant(
        "older-log-is-folded",
        "store.sqlite.database:Database._begin",
        "(self._cut or self.older)",
        "self._cut",
        "test_formats.py",
    ),
    Mutant(
        "older-file-is-replaced-while-open",
        "store.sqlite.frozen:Predecessor.replace",
        "_closed(path)",
        "path",
        "test_migrate.py",
    ),
    Mutant(
        "older-file-is-replaced-though-written-to",
        "store.sqlite.frozen:Predecessor._look",
        "self._states() != self._seen",
        "not self._states()",
        "test_migrate.py",
    ),
    Mutant(
        "kept-file-is-replaced",
        "store.sqlite.frozen:Predecessor.replace",
        "if not (kept.exists() and kept.samefile(old)):  # as after an interruption\n                os",
        "kept.unlink(missing_ok=True)\n            os",
        "test_migrate.py",
    ),
)
