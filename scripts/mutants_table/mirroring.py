"""Mistakes in a folder of Markdown that is kept in step with the memories."""

from __future__ import annotations

from mutants_table.mutant import Mutant

MIRRORING = (
    Mutant(
        "mirror-deletes-at-once",
        "engine.mirror:Mirror.look",
        ", former = missing(look), self._missing",
        " = former = missing(look)",
        "test_mirror_attacks.py",
    ),
    Mutant("mirror-deletes-all", "config.walk:withheld", "many or", "", "test_mirror_absence.py"),
    Mutant(
        "mirror-keeps-one-version",
        "engine.mirror:_Look._both",
        ")\n        for version in lost:\n            yield self._kept_beside(memory, version)\n        final",
        ")\n        final",
        "test_mirror_machine.py test_mirror.py",
    ),
    Mutant(
        "mirror-takes-a-project-for-deleted",
        "engine.mirror_sides:Sides.__init__",
        "uid in mine or self",
        "self",
        "test_mirror_attacks.py",
    ),
    Mutant(
        "mirror-keeps-a-secret",
        "engine.mirror_sides:Sides.put",
        "self.documents.clean(there.foreign)",
        "there.foreign",
        "test_mirror_attacks.py",
    ),
    Mutant(
        "mirror-forgets-own-lines",
        "engine.mirror_sides:Sides.put",
        "._replace(foreign=self.documents.clean(there.foreign))",
        "",
        "test_mirror_attacks.py test_mirror.py",
    ),
    Mutant(
        "mirror-believes-a-backup",
        "carry.mirror_folder:Folder._read",
        "> self._highest()",
        "< 0",
        "test_mirror_attacks.py",
    ),
    Mutant(
        "mirror-lists-without-a-snapshot",
        "engine.mirror_sides:Sides.__init__",
        "with store.snapshot()",
        "if store",
        "test_mirror_attacks.py",
    ),
    Mutant(
        "mirror-merges-by-line-ends",
        "carry.pages:mark",
        '.replace("\\r\\n", "\\n") if isinstance(value, str) else value',
        "",
        "test_mirror_attacks.py",
    ),
)
