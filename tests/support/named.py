"""Questions with names, digits and hyphens, as people ask them, and notes that answer some of them."""

from __future__ import annotations

import random

QUESTIONS = (
    "DUSP4 decreases apoptosis.",
    "TNFAIP3 is a glioblastoma tumor enhancer",
    "MFGE8 regulates fat absorption by binding to av-Beta3 and av-Beta5 integrins",
    "Does IL-6 raise p53 in HeLa cells after 24 h?",
    "Is H3K4me3 lost where NF-kB is active?",
    "how to encode base64 in python3 with user_id",
    "What does getUserName return on iOS 17.2?",
    "CD4 and CD8 T cells of type-2 patients",
    "vitamin B6 or B12, 5 mg",
    "rename useState to use_state in v1.26",
    'the note about "use state" and A20',
    "C3 4* of SHA-256",
    "Why is the I/O of s3fs slow?",
)

SAID = (
    *("DUSP4", "dusp 4", "DUSP6", "TNFAIP3", "TNFAIP8L2", "MFGE8", "integrins", "av-Beta3", "beta", "Beta 5", "fat"),
    *("IL-6", "IL6", "p53", "p 53", "HeLa", "cells", "H3K4me3", "H3K36", "NF-kB", "kB", "active", "apoptosis", "tumor"),
    *("base64", "base 64", "python3", "python", "user_id", "userId", "getUserName", "iOS", "17.2", "24", "CD4", "CD40"),
    *("CD8", "type", "2", "B6", "B12", "vitamin", "useState", "use state", "use_state", "v1.26", "A20", "a 20", "a"),
    *("C3", "40", "4", "48", "SHA-256", "sha", "I/O", "s3fs", "slow", "decreases", "binding", "note", "about", "the"),
)


def notes(count: int, seed: int = 0) -> list[str]:
    """Texts of these words, the same for the same seed. All of them together have thousands of numbers, as stores have."""
    dice = random.Random(seed)
    return [
        " ".join([*dice.choices(SAID, k=dice.randint(3, 25)), *(str(dice.randrange(10_000)) for _ in range(3))])
        for _ in range(count)
    ]
