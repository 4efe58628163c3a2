"""
The characters of FTS5's `unicode61 remove_diacritics 2`: which ones make words, and how they are written there.

Its tables are of Unicode 6.1, those of Python newer: here scripts that came later have no capitals, and what was no
character yet makes words. `scripts/unicode61.py` reads them off FTS5 and prints these.
"""

from __future__ import annotations

from bisect import bisect
from itertools import accumulate

_RUNS = """
    1c a 7 q 6 q 1b 1 7 2 1 1 3 2 1 3 1 n 1 v 1 cq 4 c e 5 7 1 1 1 h 5 1 7 2 1 1 1 9 1 7 6 4 2 1 2 1q 5 1 8 1 5 2 1
    1 32 1 3v 8 5s 6 15 2 4 1 1 1j 17 2 b 5 1 m 2 2 17 l a 4 2 1 2r 1 1 f 2 7 f 2 1 e 1 1 1 1 u r 2j b 1m 9 2 4 s 4
    1 9 1 3 1 5 2 f q 3 2 1 3p r 1 4 1i 3 1 i 1 7 a 4 a 1 g 3 1k 1 1 7 2 2 2 3 9 1 a 2 e 2 6 2 5 3 1k 1 1 5 4 2 2 3
    3 1 u 2 3 1 b 3 1k 1 1 8 1 3 1 3 k 2 c 2 f 3 1k 1 1 7 2 2 2 3 8 2 a 2 c 1 h 1 1n 5 3 3 1 4 9 1 r 8 6 3 1m 7 1 3
    1 4 7 2 b 2 r 1 2 2 1k 1 1 7 1 3 1 4 7 2 b 2 u 2 1m 7 1 3 1 4 9 1 a 2 l 1 8 2 1y 1 4 6 1 1 1 8 i 3 1o 1 2 7 4 1
    7 9 a 2 2d 1 2 6 1 2 b 6 1f v k c 1d n 5 b 1 10 1 f 1 d 28 k b 6 6 4 4 3 1 3 2 7 3 4 d c 1 1 a 6 2j 1 gx c 13 a
    2u 1 h8 2 h 1 q 2 26 3 10 3 t 5 r 2 u 2 1s z 1 4 1 1 y f 4a 1 3a c 4 c 4 1 3 2 2y h 7 2 k y n 5 2 2 1h a 1 t 2 1
    w 7 1 6 2a 5 1b h l z 3 3 u d 1k e 8 4 10 k 3 5 1q 2 1s 8 8 p 4 1 4 3 5n 13 l 4 cd 1 1 3 b 3 d 3 d 3 d 2 1 2t 5
    6 a 5 b 5 h q m x f 2 1 4 1 2 a 1 1 3 5 6 1 1 1 1 1 1 4 1 b 2 4 5 5 4 1 1 1s h0 c 13 p b 29 26 m e8 1 39 u qh 3
    a az 6 4 3 7 4 1 2 34 1 e 1 2o 27 1 c 1w q 1 2h c 5y q c 4 5 3 p 9 7 5 2 5 3 2h 4 3 1 2i 1 44 2 4 a w 10 s v b u
    8 1 f w a 13 f 1r 1 74 534 1s h3k 1j 1j 2 7h 3 2n g w 1 28 8 8 n 9 2 2v 2 3b 1 3 1 4 1 n 9 a 4 1m 4 8 2 1e h 9 2
    g i 6 3 17 a n d b 1 w 4 1b r g 2 21 e c 1 8 2 e 4 n 3 1 1 1g 1 1 3 2 2 5 2 1 1 s 2 b 7 3 2 6k b 8pe 1kw 5cu 1 a
    1 3s g ak 2 58 2 2 q 6 7 9 z 1 j 1 4 43 1 1 f a 7 q 6 q b 3e 7 1 7 a 7 74 3 1g 9 1l h 6 c 1g 1a bl 1 1c 1 w6 1
    5j 1 v 1 5d 3 1 2 5 4 14 3 4 1 g 9 12 1 55 7 xs 3 1h m 1e 3 19 i 1q 3 10 e b 4 1o 3 1c e 4 4 yq d 2pk 4 esd 1a g
    4 j1p 6u a 13 2 51 y 1y 56 2f oa 1 p 1 v 1 p 1 v 1 p 1 v 1 p 1 v 1 p 1 4ks 2 7i 18 4 2s c f 2 e 2 f 1 f 1c v 1
    1o 4 17 23 t d 17 5 9 7 2 4u x f 6 1 1y 3 k c 11 1 5 l h f 1r 1 1 1 52 1 4 3 1q 2 4 c o 43 1y 4 b 1c 1y 1m 38
    gwi5 1 u 2o 3k 6o 47bk
"""
"""How many characters in turn end a word and make one, from the first on: in base 36."""

_MARKS = """
    300 301 302 303 304 306 307 308 309 30a 30b 30c 30f 311 31b 323 324 325 326 327 328 32d 32e 330 331
"""
"""Diacritics that are left out of words."""

_CAPITALS = """
    41-24f 370-377 386-527 531-557 10a0-10ce 1e00-1ffd 2126-2184 2c00-2c2f 2c60-2cf3 a640-a697 a722-a793 a7a0-a7ab
    ff21-ff3b 10400-10428
"""
"""Where the capitals of Unicode 6.1 are, and no later ones. They are written small."""

_PLAIN = """
    aàáâãäåāăąǎǟǻȁȃȧḁạảấầẩẫậắằẳẵặ bḃḅḇ cçćĉċčḉ dďḋḍḏḑḓ eèéêëēĕėęěȅȇȩḕḗḙḛḝẹẻẽếềểễệ fḟ gĝğġģǧǵḡ hĥȟḣḥḧḩḫẖ
    iìíîïĩīĭįǐȉȋḭḯỉị jĵǰ kķǩḱḳḵ lĺļľḷḹḻḽ mḿṁṃ nñńņňǹṅṇṉṋ oòóôõöōŏőơǒǫǭȍȏȫȭȯȱṍṏṑṓọỏốồổỗộớờởỡợ pṕṗ rŕŗřȑȓṙṛṝṟ
    sśŝşšſșṡṣṥṧṩẛ tţťțṫṭṯṱẗ uùúûüũūŭůűųưǔǖǘǚǜȕȗṳṵṷṹṻụủứừửữự vṽṿ wŵẁẃẅẇẉẘ xẋẍ yýÿŷȳẏẙỳỵỷỹ zźżžẑẓẕ
"""
"""Small letters of ASCII with diacritics, behind the one they are written as."""

_FOLDED = """
    µμ İi ςσ ϐβ ϑθ ϕφ ϖπ ϰκ ϱρ ϵε ιι
"""
"""What else is written as another letter."""

REMEMBERED = 1 << 15  # characters


class Letters(dict[int, str]):
    """What each character is in a word, for `str.translate`: a blank if it ends words."""

    def __init__(self) -> None:
        self._plain = {letter: group[0] for group in _PLAIN.split() for letter in group[1:]}
        self._ends = list(accumulate(int(run, 36) for run in _RUNS.split()))
        self._capitals = [int(border, 16) for area in _CAPITALS.split() for border in area.split("-")]
        super().__init__({ord(pair[0]): pair[1] for pair in _FOLDED.split()})
        self.update(dict.fromkeys((int(mark, 16) for mark in _MARKS.split()), ""))

    def __missing__(self, code: int) -> str:
        found = self._written(chr(code)) if bisect(self._ends, code) % 2 else " "
        if len(self) < REMEMBERED:
            self[code] = found
        return found

    def _written(self, letter: str) -> str:
        if bisect(self._capitals, ord(letter)) % 2:
            letter = letter.lower()
        return self._plain.get(letter, letter)
