"""Mistakes in copies of what is kept: in memory, and in files made from the database."""

from __future__ import annotations

from mutants_table.mutant import Mutant

COPYING = (
    Mutant(
        "copy-is-not-counted",
        "store.sqlite.matrix:Matrix._caught_up",
        "alive + len(added.chunks) != now.vectors or held.",
        "",
        "test_held_machine.py",
    ),
    Mutant(
        "copy-keeps-what-is-rolled-back",
        "store.sqlite.matrix:Matrix._current",
        'db.txn_state("main") == apsw.SQLITE_TXN_WRITE or self',
        "self",
        "test_held_machine.py",
    ),
    Mutant(
        "copy-forgets-nothing", "store.sqlite.matrix:Matrix._caught_up", "gone.chunks", "()", "test_held_machine.py"
    ),
    Mutant(
        "copy-takes-what-is-beyond-the-forgotten",
        "store.sqlite.held:VectorTable.last",
        "[self.chunks > 0]",
        "",
        "test_held_machine.py",
    ),
    Mutant("removals-have-gaps", "store.sqlite.derived:since", "found !=", "found <", "test_removals.py"),
    Mutant(
        "derived-counts-although-it-was-purged",
        "store.sqlite.derived:publish",
        "_place(database.path, name, new).exists()",
        "name",
        "test_derived.py",
    ),
)
