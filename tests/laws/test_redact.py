"""Laws of redaction: twice is once, nothing of a secret is left, and no text takes long."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import assume, example, given, strategies as st
from profiles import examples
from secrets_made import SHAPES, made, runs

from memory.redact import BUILT_IN, Redactor
from memory.redact.ignore import parsed
from memory.redact.rules import Text, Words, _spans
from memory.schema.errors import Invalid

REDACTOR = Redactor()
OWN = Redactor(parsed("acme*\n*.corp\nblue*bird\n/case-\\d+/\n", "f"))
BENIGN = (Path(__file__).parents[1] / "support" / "benign.txt").read_text("utf-8").splitlines()
WORDS = sorted({word for rule in BUILT_IN for word in rule.words})

# What a pattern gives a meaning to, and halves of what it looks for.
PARTS = [
    *"\"'`<>[](){}=:;,.!?@#$%&*+-_/\\| \t\n\r\u00a0éß東İſK",
    *[
        "password",
        "=",
        ": ",
        " = ",
        "://",
        "user:",
        "@host",
        "hunter2",
        "Bearer ",
        "Authorization: ",
        "<redacted>",
        "</redacted>",
    ],
    *[
        "[redacted]",
        "[redacted:",
        "[redacted:jwt]",
        "[redacted:memoryignore:1]",
        "\\n",
        "%3D",
        "acme",
        "blue",
        "bird",
        ".corp",
    ],
    *["-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "A" * 20, "x9" * 8, "a1B2c3D4e5F6g7H8", "case-12"],
]
hostile = st.lists(st.sampled_from([*PARTS, *WORDS]) | st.text(max_size=4), max_size=14).map("".join)
dice = st.integers(0, 2**32).map(random.Random)
shapes = st.sampled_from(SHAPES)
around = st.sampled_from(
    [("", ""), (" ", " "), ("(", ")"), ('"', '"'), ("`", "`,"), (", ", ","), ("\\n", "\\n"), ("- ", ".")]
)


def redacted(redactor: Redactor, text: str) -> str | None:
    try:
        return redactor.text(text).text
    except Invalid:
        return None


@pytest.mark.parametrize("redactor", [REDACTOR, OWN])
@given(hostile)
@examples(4)
@example("password=[redacted:jwt]x9x9x9")
@example("<redac<redacted>x</redacted>ted>")
def test_twice_is_once(redactor: Redactor, text: str) -> None:
    once = redacted(redactor, text)

    assert once is None or redactor.text(once) == (once, ())


@given(shapes, dice, st.sampled_from(BENIGN), st.sampled_from(BENIGN))
@examples(3)
@example("assigned-secret password: ⟨R{s20}9w⟩", random.Random(5150898), "", "")  # has *** in it
def test_a_secret_among_other_texts_is_gone_and_they_stay(
    shape: str, dice: random.Random, before: str, after: str
) -> None:
    assume("redacted>" not in before or "redacted>" not in after)  # one open, one closed: such a text is refused
    one = made(shape, dice)

    text, found = REDACTOR.text(f"{before}\n\n{one.text}\n\n{after}")

    assert text.startswith(f"{before}\n\n")
    assert text.endswith(f"\n\n{after}")
    assert not any(run in text for run in runs(one.secret))
    assert one.rule in found


@given(st.lists(st.tuples(shapes, around), min_size=1, max_size=4), dice)
@example([("pgpass-password db.internal:5432:app:owner:⟨{a14}⟩", ("\\n", "\\n"))], random.Random(0))
@example([("assigned-secret 密码：⟨x9!{p14}⟩", ("\\n", "\\n"))], random.Random(0))
@example([("assigned-secret mdp: ⟨{a24}⟩", ("\\n", "\\n"))], random.Random(0))
@example([("assigned-secret --db-password ⟨{a12}⟩ --force", ("\\n", "\\n"))], random.Random(0))
@examples(3)
def test_secrets_side_by_side_are_all_gone(parts: list[tuple[str, tuple[str, str]]], dice: random.Random) -> None:
    several = [(made(shape, dice), pair) for shape, pair in parts]

    text = REDACTOR.text("\n".join(f"{before}{one.text}{after}" for one, (before, after) in several)).text

    assert not any(run in text for one, _ in several for run in runs(one.secret))
    assert REDACTOR.text(text).text == text


@given(hostile.filter(lambda text: "<" not in text), hostile.filter(lambda text: "<" not in text), st.text(max_size=60))
def test_what_was_marked_is_gone_whatever_it_is(before: str, after: str, held: str) -> None:
    held = f"⟨{held.replace('<', '')}⟩"

    assert held not in REDACTOR.text(f"{before}<redacted>{held}</redacted>{after}").text


@given(hostile, shapes, dice)
@examples(2)
@example("", "otp-seed mfakey: ⟨{i32}⟩", random.Random(0))
def test_no_word_is_ruled_out_around_which_its_rule_finds_something(text: str, shape: str, dice: random.Random) -> None:
    whole = Text(f"{text} {made(shape, dice).text}")
    present = {(one.word, one.rank) for one in Words(enumerate(BUILT_IN)).present(whole)}

    for rank, rule in enumerate(BUILT_IN):
        hay = whole.low if rule.folded else whole.text
        for word in rule.words if rule.pattern else ():
            assert (word, rank) in present or not [*_spans(rule, word, whole.text, hay)]


@given(st.text())
def test_a_text_without_a_word_of_a_rule_stays(text: str) -> None:
    low = text.lower()

    if not any(word.lower() in low for word in WORDS) and "<" not in text:
        assert REDACTOR.text(text) == (text, ())


@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats(allow_nan=False)
        | hostile.filter(lambda text: "<" not in text),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from([*PARTS[60:], "a", "api_key"]), inner, max_size=3)
        ),
        max_leaves=8,
    )
)
def test_a_value_redacted_twice_is_redacted_once(value) -> None:
    try:
        once, _ = REDACTOR.value(value)
    except Invalid:
        return

    again, found = REDACTOR.value(once)

    assert found == ()
    assert again is once
