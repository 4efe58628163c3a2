"""Mistakes in copies of what is kept: in memory, and in files made from the database."""

from __future__ import annotations

from mutants_table.mutant import Mutant

COPYING = (
    Mutant(
        "copy-is-not-counted",
        "held.alive + len(added.chunks) != now.vectors or held.gone",
        "held.gone",
        "test_held_machine.py",
    ),
    Mutant(
        "copy-keeps-what-is-rolled-back",
        'db.txn_state("main") == apsw.SQLITE_TXN_WRITE or self._newer(now)',
        "self._newer(now)",
        "test_held_machine.py",
    ),
    Mutant(
        "copy-forgets-nothing",
        "held = held.without(gone.chunks)",
        "held = held.without(())",
        "test_held_machine.py",
    ),
    Mutant(
        "copy-takes-what-is-beyond-the-forgotten",
        "return int(self.places[self.chunks > 0].max(initial=0))",
        "return int(self.places.max(initial=0))",
        "test_held_machine.py",
    ),
    Mutant(
        "removals-have-gaps",
        "if found != last + 1:",
        "if found < last + 1:",
        "test_removals.py",
    ),
    Mutant(
        "derived-counts-although-it-was-purged",
        "if not _place(database.path, name, new).exists():",
        "if not name:",
        "test_derived.py",
    ),
    Mutant(
        "derived-is-not-checked",
        "            if found != check:",
        "            if found < 0:",
        "test_derived.py test_signatures.py",
    ),
)
