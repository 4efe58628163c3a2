"""Whatever is said, it is cut into what was said, and looked through at so much for each of its characters."""

from __future__ import annotations

from hypothesis import example, given, strategies as st
from profiles import examples
from work import guarded, is_linear

from memory.carry import cues
from memory.carry.cues import CLOSE, LONGEST, OPEN, cue, promising, sentences, statement

PIECES = ["<a>", "</a>", "<a></b>", '"', "`", "no, ", "so, and ", "we decided ", "e.g. ", "- ", "\u201c", "**", "__"]
PIECES += [
    "the cause ",
    "always ",
    "a.b ",
    "A",
    ". ",
    "? ",
    "\n",
    "\n\n",
    "\t",
    "    x\n",
    "```\n",
    "> ",
    "\u2019",
    "\u0130",
    OPEN,
    CLOSE,
]
SIGNS = str.maketrans("", "", "*_" + OPEN + CLOSE)


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=3)).map("".join), st.booleans())
@example("- **a** b", True)
def test_any_text_is_cut_into_what_it_says(text: str, person: bool) -> None:
    plain = " ".join(text.translate(SIGNS).split())
    for one in sentences(text, typed=person):
        for word in one.text.translate(SIGNS).split():
            assert word in plain
        assert len(one.text) <= LONGEST
        assert statement(one)
        if cue(one, person=person, answers=True) is not None:
            assert promising(one.text)


@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=3).map("".join))
@examples(0.4)
def test_looking_through_is_linear(part: str) -> None:
    with guarded():
        is_linear(lambda text: [cue(one, person=True, answers=True) for one in sentences(text)], part, cues)
