"""
Counts how letters follow each other in words, for `memory.redact.detectors`: prints its table.

    python scripts/letters.py FILE ...

The table that is there was made of the corpora of CoSQA (dev), Cranfield, LoCoMo and SciFact (train) and of the modules of
Python's standard library: names of code beside prose. Words count by the square root of how often they occur.
"""

from __future__ import annotations

import math
import re
import sys
from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path
from string import ascii_lowercase as letters

LEAST = 3  # times that a word occurs: rarer ones are mistakes and made up
LONGEST = 20  # letters of a word
RARE = 0.001  # share of a pair that never occurs


def main() -> None:
    words: Counter[str] = Counter()
    for file in sys.argv[1:]:
        text = Path(file).read_text("utf-8")
        words.update(word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]{2,}(?![a-z])", text))
    pairs: dict[str, Counter[str]] = defaultdict(Counter)
    for word, times in words.items():
        if times >= LEAST and len(word) <= LONGEST:
            for first, second in pairwise(word):
                pairs[first][second] += math.sqrt(times)
    for first in letters:
        whole = sum(pairs[first].values())
        shares = ((pairs[first][second] / whole + RARE) / (1 + 26 * RARE) for second in letters)
        print("".join(str(min(9, max(0, 5 + round(math.log2(26 * share))))) for share in shares))


if __name__ == "__main__":
    main()
