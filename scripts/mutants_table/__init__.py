"""Small wrong changes to the product, as people make them, and the tests that should see each; see `mutants`."""

from __future__ import annotations

from mutants_table.copying import COPYING
from mutants_table.finding import FINDING
from mutants_table.keeping import KEEPING
from mutants_table.mirroring import MIRRORING
from mutants_table.moving import MOVING
from mutants_table.mutant import Mutant
from mutants_table.showing import SHOWING
from mutants_table.using import USING

__all__ = ["MUTANTS", "Mutant"]

MUTANTS: tuple[Mutant, ...] = (*FINDING, *KEEPING, *USING, *COPYING, *MIRRORING, *MOVING, *SHOWING)
