"""Mistakes in a folder of Markdown that is kept in step with the memories."""

from __future__ import annotations

from mutants_table.mutant import Mutant

MIRRORING = (
    Mutant(
        "mirror-deletes-at-once",
        "self._missing, former = look.missing(), self._missing",
        "self._missing = former = look.missing()",
        "test_mirror_attacks.py",
    ),
    Mutant(
        "mirror-deletes-all",
        "if not files and len(self.agreed) > 1:",
        "if not files and not self.agreed:",
        "test_mirror.py",
    ),
    Mutant(
        "mirror-keeps-one-version",
        "        for version in lost:\n            yield self._kept_beside(memory, version)\n",
        "",
        "test_mirror_machine.py test_mirror.py",
    ),
    Mutant(
        "mirror-takes-a-project-for-deleted",
        "if uid in mine or self._is_ours(uid)}",
        "if self._is_ours(uid)}",
        "test_mirror_attacks.py",
    ),
    Mutant(
        "mirror-keeps-a-secret",
        "page._replace(foreign=self.documents.clean(there.foreign))",
        "page._replace(foreign=there.foreign)",
        "test_mirror_attacks.py",
    ),
    Mutant(
        "mirror-forgets-own-lines",
        "page._replace(foreign=self.documents.clean(there.foreign))",
        "page",
        "test_mirror_attacks.py test_mirror.py",
    ),
    Mutant(
        "mirror-believes-a-backup",
        'if values["highest"] > self._highest():',
        'if values["highest"] < 0:',
        "test_mirror_attacks.py",
    ),
    Mutant(
        "mirror-lists-without-a-snapshot",
        "with store.snapshot():  # else",
        "if store:  # else",
        "test_mirror_attacks.py",
    ),
    Mutant(
        "mirror-merges-by-line-ends",
        'same = value.replace("\\r\\n", "\\n") if isinstance(value, str) else value',
        "same = value",
        "test_mirror_attacks.py",
    ),
)
