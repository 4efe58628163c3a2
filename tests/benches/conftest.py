"""Benches are scripts beside each other: they import what is in their folder."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "bench"))
