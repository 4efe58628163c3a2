"""Texts that something has ever stumbled over, and an index to look for them in."""

from __future__ import annotations

import apsw
from hypothesis import strategies as st

from memory.store.sqlite.keywords import expression
from memory.text.fold import fold
from memory.text.terms import grams, terms

# Whatever FTS5 or a tokenizer gives a meaning to, or has ever stumbled over.
OPERATORS = [*"\"'()*^:{}+-.,;?!%_\\/|&<>=~`@#$[] \t\n\r\0", '""', '"*', "NEAR(", "NEAR(a b, 2)", "AND", "OR", "NOT"]
COLUMNS = ["title:", "{title text} :", "-title", "^title", "passages_fts", "rowid", "--", "/*", "*/", "; drop table t;"]
LETTERS = ["a", "auth", "don't", "x" * 300, "é", "e\u0301", "ß", "İ", "ǅ", "ﬁ", "٣", "²", "½", "Ⅷ", "\u1ebf"]
SCRIPTS = [
    "東京都",
    "ｶﾞｷﾞ",
    "กินข้าว",
    "ที่",
    "ខ្មែរ",
    "မြန်မာ",
    "हिन्दी",
    "한국어",
    "שָׁלוֹם",
    "مَرْحَبًا",
    "\U00020000",
    "\U00030000",
    "・",
    "々",
]
MARKS = [
    *"\u0300\u20dd\u200d\u200b\u200e\u200f\u202e\u2066\ufeff\ufffe\uffff\ue000\U000e0001\U0010ffff",
    "👩‍👩‍👧",
    "🏳️‍🌈",
    "\u0345",
]
HOSTILE = [*OPERATORS, *COLUMNS, *LETTERS, *SCRIPTS, *MARKS]

hostile = st.lists(st.sampled_from(HOSTILE) | st.text(max_size=3), max_size=12).map("".join)


class Index:
    """A real FTS5 table as the store has it, reduced to its texts."""

    def __init__(self, *texts: str) -> None:
        self._db = apsw.Connection(":memory:")
        self._db.execute("create virtual table t using fts5(title, text, grams, tokenize='porter unicode61')")
        for text in texts:
            self._db.execute("insert into t values ('', ?, ?)", (fold(text), *grams([text])))

    def found(self, query: str) -> list[int]:
        return self.asked(expression(terms(query)))

    def asked(self, wanted: str) -> list[int]:
        return [row for (row,) in self._db.execute("select rowid from t where t match ?", (wanted,))]
