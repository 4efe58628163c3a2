"""What redaction costs grows as the text does, whatever is repeated: shown by counted work, never by a clock."""

from __future__ import annotations

import re
import subprocess
import sys
from contextlib import suppress

import pytest
from hypothesis import example, given, strategies as st
from profiles import examples

from memory.redact import BUILT_IN, Redactor, SecretRule, detectors, rules
from memory.redact.ignore import parsed
from memory.schema.errors import Invalid

OWN = Redactor(parsed("acme*\n*.corp\nblue*bird\n/case-\\d+/\n", "f"))
WORDS = sorted({word for known in BUILT_IN for word in known.words})
FREE = 12
"""Searches of a place, at most: those around other secrets, and those that take more with them each time."""

ATOMS = [
    *WORDS,
    *"=:;,.!?@#$%&*+-_/\\|<>()[]{}'\"` \t\n\u00a0",
    *(
        "a",
        "B",
        "1",
        "x9",
        "a1B2",
        "user",
        "host",
        "Bearer ",
        "--",
        "://",
        "\\n",
        "\\\n",
        "%3D",
        "\x1b[31m",
        "&amp;",
        "İ",
    ),
    *("-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "A" * 20, "acme", "blue", ".corp", "case-1"),
]
parts = st.lists(st.sampled_from(ATOMS), min_size=1, max_size=4).map("".join)


class Counted:
    """An expression that counts how often it is tried."""

    tried = 0

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self._pattern, self._match = pattern, pattern.match

    def __getattr__(self, name: str) -> object:
        return getattr(self._pattern, name)

    def match(self, text: str, at: int) -> re.Match[str] | None:
        Counted.tried += 1
        return self._match(text, at)


def work(part: str, size: int) -> tuple[int, int]:
    """Characters that were searched for words, and expressions that were tried, on a part repeated to a size."""
    searched: list[int] = []
    places, compiled = rules.Finder.places, rules.compiled

    def counted(finder: rules.Finder, whole: rules.Text) -> list[rules.SecretSpan]:
        searched.append(len(whole.text))
        return places(finder, whole)

    Counted.tried = 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rules.Finder, "places", counted)
        patch.setattr(rules, "compiled", lambda pattern, *, folded: Counted(compiled(pattern, folded=folded)))
        with suppress(Invalid):  # an open tag beside a closed one: refused before anything is searched
            OWN.text((part * (size // len(part) + 1))[:size])
    return sum(searched), Counted.tried


# What was quadratic once, or comes near a rule.
NEAR = [
    *("secret=", "=secret", "=token", "secret=a1!", "api_key\n", "secret:", "--token "),
    *(
        "a",
        "1",
        "-",
        "\\",
        "'",
        "İ",
        "key",
        "api_key ",
        "://",
        "://a:",
        "://a:b@",
        "eyJ.",
        "eyJhbGciOi.a.",
        "[redacted]",
    ),
    *(
        "password=",
        "PASSWORD=",
        "password=a(",
        "Pwd=;Pwd=",
        "token='",
        'secret="\\',
        "password" + " " * 30,
        "<password>",
        "--a-",
    ),
    *(
        "-----BEGIN ",
        "-----BEGIN PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\nAAAA",
        "-----BEGIN PRIVATE KEY-----" + "a1B2c3D4e5F6g7H8" * 40,
        "password=a1,",
        "password: a1)",
        "password" + "a1(" * 80,
        "API_KEY value=",
        "(token,'",
        "://u:p@q@",
        "sshpass -p ",
        "mysql -",
        "identified by ",
        "curl -u ",
        "machine a.b login c ",
    ),
    *(
        "authorization: ",
        "Bearer a",
        "sid=",
        "</redacted>",
        "Private-Lines: 1\nAAAA\n",
        "acme",
        "blue",
        "x.corp",
        "case-1",
    ),
]


@given(parts)
@examples(0.4)
@example("secret=")
@example("=token")
@example("secret\xa0= ")
def test_whatever_is_repeated_costs_a_place_the_same_in_a_longer_text(part: str) -> None:
    few, more, many = (work(part, size) for size in (1_000, 4_000, 16_000))

    for short, longer in ((few, more), (more, many)):
        assert longer[0] <= 4 * short[0] * 1.5 + 4_000
        assert longer[1] <= 4 * short[1] * 1.5 + 1_000
    assert many[0] <= 16_000 * FREE


@pytest.mark.parametrize(
    ("part", "size"), [(part, 50_000) for part in NEAR] + [("secret=a1!", 200_000), ("eyJ.", 500_000)]
)
def test_a_long_text_is_searched_a_bounded_number_of_times(part: str, size: int) -> None:
    searched, tried = work(part, size)

    assert searched <= size * FREE
    assert tried <= size * FREE


def scored(text: str) -> int:
    """How many characters are scored by their pairs: what costs most of all that a judge does."""
    sizes: list[int] = []
    bits = detectors._bits

    def counted(run: str) -> float:
        sizes.append(len(run))
        return bits(run)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(detectors, "_bits", counted)
        with suppress(Invalid):
            OWN.text(text)
    return sum(sizes)


SIGNS = ["=", ":", " ", ": ", '="', "|", ",", "('", "\n", "-", " is "]
NAMES = sorted({word for known in BUILT_IN if known.nested for word in known.words})


@given(st.lists(st.sampled_from(NAMES), min_size=1, max_size=3), st.sampled_from(SIGNS))
@examples(3)
@example(["sifre", "creds", "parola d'ordine"], "=")
def test_names_in_a_row_are_not_judged_with_all_that_follow(names: list[str], sign: str) -> None:
    """`mdp=` a hundred thousand times: each took all that followed for its value."""
    part = "".join(name + sign for name in names)

    assert scored(part * 40) <= 15 * len(part * 40)


@given(st.lists(st.sampled_from(NAMES), min_size=1, max_size=3), st.sampled_from(SIGNS))
@examples(0.4)
@example(["mdp"], "=")
@example(["mdp", "clave", "parola"], "=")
@example(["token"], ": ")
@example(["secret"], " is ")
def test_of_a_long_row_of_names_only_its_beginning_and_its_end_are_tried(names: list[str], sign: str) -> None:
    part = "".join(name + sign for name in names)
    (_, few), (_, many) = (work(part, size) for size in (15_000, 60_000))

    assert many <= few + 8_000


@pytest.mark.parametrize("known", [one for one in BUILT_IN if one.nested], ids=lambda known: known.name)
def test_what_is_searched_again_after_a_match_is_bounded(known: SecretRule) -> None:
    assert re._parser.parse(known.pattern).getwidth()[1] <= 4_000


def test_secrets_inside_one_another_take_no_recursion() -> None:
    text = "".join(f"secret{number}=" for number in range(5 * sys.getrecursionlimit()))

    once = OWN.text(text)

    assert OWN.text(once.text) == (once.text, ())


def test_a_note_without_a_word_of_a_rule_is_searched_for_words_only() -> None:
    note = "We chose SQLite because it is embedded and needs no server; WAL mode lets readers go on while one writes. "

    assert work(note, 300) == (300, 0)


def test_no_value_of_a_secret_is_taken_apart_in_more_ways_than_it_has_characters():
    """Steps inside of an expression cannot be counted: in a process of its own, which an exponential one would never end."""
    program = """
from itertools import product
from memory.redact import Redactor
redactor = Redactor()
names = ("password: ", "API_KEY=", "token: ", "clientSecret: ", "--password ", "psk=", "https://user:", "x:5432:y:z:")
units = ("a", "A", "1", "aA", "Aa", "a1", "aB1", "a.", "a-", "a_", "a/", "a#", "%a", "a@", "a:", "a=", "a,", "(a", "a)", ".", "$")
for name, unit, end in product(names, units, ("", "A", "a", "1", "!", ".", "aA1", "@h", "A.b")):
    redactor.text(name + unit * (240 // len(unit)) + end)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60)

    assert done.returncode == 0, done.stderr
