"""Laws of the expressions of redaction: what one that never goes back matches is what the plain one matches."""

from __future__ import annotations

import ast
import re
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import example, given, strategies as st
from profiles import examples

from memory.redact import BUILT_IN, Redactor, formats
from memory.redact.ignore import parsed
from memory.schema.errors import ConfigError

ROOT = Path(__file__).parents[2]
SOURCES = sorted(chain.from_iterable((ROOT / folder).rglob("*.py") for folder in ("src", "tests", "bench", "scripts")))
POSSESSIVE_GROUP = re.compile(r"(?<!\\)[)](?:[*+?]|\{\d*,?\d*\})\+")
MISREADS = re.fullmatch("(?:ab?c)" + "*+", "a") is not None
"""Whether this Python takes a group that is repeated possessively for something else: gh-106052."""

BASE64 = st.sampled_from("AQ== x9 /+ Zm9vYmFy MIIEpAIBAAKCAQEA And Before b64".split()) | st.integers(1, 70).map(
    lambda size: ("MIIEpAIBAAKCAQEAx9f" * 4)[:size]
)
FRAME = st.sampled_from(
    [
        *(
            "\n",
            "\n\n",
            "\r\n",
            " ",
            "\t",
            "\\n",
            "\\r\\n",
            '"',
            "'",
            '" +\n"',
            ",",
            "> ",
            "| ",
            "//",
            "# ",
            "*",
            "=",
            "==",
        ),
        *("Proc-Type: 4,ENCRYPTED\n", "DEK-Info: AES-128-CBC,AB12\n", "Version: GnuPG v2\n", "Comment: a b", "-----"),
        *("-----END RSA PRIVATE KEY-----", "And then we went on.", "é", "."),
    ]
)
bodies = st.lists(BASE64 | FRAME, max_size=24).map("".join)


def plain(pattern: str) -> str:
    """The pattern without anything that never goes back. It matches the same where nothing follows that."""
    return re.sub(r"([*+}])\+", r"\1", pattern.replace("(?>", "(?:"))


@given(bodies)
@examples(4)
@example("\nMIIEpAIBAAKCAQEAMIIEpAIB\n\nAnd then")
@example("Zm9v\nAnd")
def test_the_body_of_a_key_ends_where_the_plain_expression_ends(text: str) -> None:
    body = re.compile(formats._BODY, re.ASCII).match(text)
    expected = re.compile(plain(formats._BODY), re.ASCII).match(text)

    assert body.span() == expected.span()


@pytest.mark.parametrize(
    "rule", [rule for rule in BUILT_IN if rule.pattern != plain(rule.pattern)], ids=lambda r: r.name
)
@given(st.data())
@examples(2)
def test_a_rule_matches_what_its_plain_expression_matches(rule, data) -> None:
    text = rule.words[0] + data.draw(bodies | st.from_regex(r"[\w.-]{0,40}", fullmatch=True))

    found = re.compile(rule.pattern, re.ASCII).match(text)
    expected = re.compile(plain(rule.pattern), re.ASCII).match(text)

    assert (found and found.span()) == (expected and expected.span())


@given(
    st.lists(st.sampled_from(["ab1", "b1x", "1x", "c.d"]), min_size=2, max_size=4), st.text("ab1xcd. \n", max_size=40)
)
@examples(3)
def test_a_wildcard_reaches_the_first_place_of_what_follows_it(parts: list[str], text: str) -> None:
    text += "".join(parts)
    (rule,) = parsed("*".join(parts), "f")

    found = re.compile(rule.pattern, re.ASCII | re.IGNORECASE).search(text)

    assert found is not None
    at = found.start()
    for part in parts:
        assert text.find(part, at) >= 0
        between = text[at : text.find(part, at)]
        assert not re.search(r"\s", between)
        at = text.find(part, at) + len(part)
    assert found.end() == at


def test_no_source_repeats_a_group_possessively() -> None:
    strings = (
        (path, node.value)
        for path in SOURCES
        for node in ast.walk(ast.parse(path.read_bytes()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )

    assert [(path.name, text) for path, text in strings if POSSESSIVE_GROUP.search(text)] == []


def test_a_rule_of_the_user_that_this_python_misreads_is_refused() -> None:
    line = "/case-(?:ab?c|d)" + "*+;/"

    if MISREADS:
        with pytest.raises(ConfigError, match=r"3\.11\.5.*\(\?>"):
            parsed(line, "f")
    else:
        assert Redactor(parsed(line, "f")).text("a case-abcd;").text == "a [redacted:memoryignore:1]"
    assert Redactor(parsed("/case-(?>(?:ab?c|d)*);/", "f")).text("a case-abcd;").text == "a [redacted:memoryignore:1]"
