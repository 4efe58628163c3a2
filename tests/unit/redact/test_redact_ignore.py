"""The rules of a `.memoryignore`: what a line takes out, and which lines are refused."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from memory.keep.entry import rules
from memory.redact import Redactor
from memory.redact.ignore import parsed
from memory.schema.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

IGNORED = """
# what is ours
ACME-*-internal
*.corp.example
Project Bluebird
/\\bcase-\\d{4}\\b/

straße*
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("see acme-42-INTERNAL now", "see [redacted:memoryignore:3] now"),
        ("see acme 42 internal", "see acme 42 internal"),
        ("ssh me@db1.Corp.Example -v", "ssh [redacted:memoryignore:4] -v"),
        ("the project bluebird is on", "the [redacted:memoryignore:5] is on"),
        ("case-1234 and case-12345", "[redacted:memoryignore:6] and case-12345"),
        ("Straßenname 5", "[redacted:memoryignore:8] 5"),
    ],
)
def test_a_line_of_memoryignore_is_taken_out(text: str, expected: str) -> None:
    redactor = Redactor(parsed(IGNORED, "f"))

    assert redactor.text(text).text == expected
    assert redactor.text(expected) == (expected, ())


def test_a_rule_that_says_redacted_leaves_markers_alone() -> None:
    redactor = Redactor(parsed("redacted\nmarker\n", "f"))

    assert (
        redactor.text("a redacted [redacted] marker").text
        == "a [redacted:memoryignore:1] [redacted] [redacted:memoryignore:2]"
    )


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("/(unclosed/", "does not compile"),
        ("/a*/", "matches the empty text"),
        ("//", "matches the empty text"),
        ("***", "at least 3 characters"),
        ("a*b", "at least 3 characters"),
        ("x" * 501, "501 characters"),
        ("/(a+)+$/", "repeats a repetition"),
        ("/(?:x*y*)*z/", "repeats a repetition"),
        ("/([ab]+c?){2,}d/", "repeats a repetition"),
        ("/(a|aa)+$/", "repeats a repetition"),
        ("/(a|a)*b/", "repeats a repetition"),
        ("/(?:x|y|xy)+!/", "repeats a repetition"),
        (r"/(?:foo|\w{3})+;/", "repeats a repetition"),
        ("/.*.*.*QQ/", "repeats a repetition"),
        (r"/\s*\s*\s*QQ/", "repeats a repetition"),
        ("*abc" * 9, "9 wildcards; at most 8"),
    ],
)
def test_a_bad_rule_is_named_by_file_and_line_and_not_repeated(line: str, said: str) -> None:
    with pytest.raises(ConfigError, match=f"^home/.memoryignore:3: .*{said}") as caught:
        parsed(f"# first\n\n{line}\n", "home/.memoryignore")

    assert line.strip("/") not in str(caught.value) or len(line) < 4


@pytest.mark.parametrize(
    "line", [r"/case-\d+/", r"/(?:foo|bar)+x/", r"/[a-z]+@[a-z.]+/", r"/(ab){2,3}c+/", r"/[(+]+a/", r"/(\d{3}-)+\d/"]
)
def test_an_honest_expression_is_taken(line: str) -> None:
    assert len(parsed(line, "f")) == 1


def test_too_many_rules_are_refused() -> None:
    with pytest.raises(ConfigError, match="1,001 rules"):
        parsed("".join(f"rule {number}\n" for number in range(1_001)), "f")


def test_rules_are_read_from_a_folder(tmp_path: Path) -> None:
    assert rules(str(tmp_path)) == ()

    (tmp_path / ".memoryignore").write_bytes("\ufeffbluebird\r\n# no\r\n".encode())

    assert [rule.name for rule in rules(str(tmp_path))] == ["memoryignore:1"]
    assert Redactor(rules(str(tmp_path))).text("Bluebird").text == "[redacted:memoryignore:1]"


def test_a_file_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / ".memoryignore"
    file.write_bytes(b"caf\xe9\n")
    with pytest.raises(ConfigError, match="is not UTF-8: byte 3"):
        rules(str(tmp_path))

    file.unlink()
    file.mkdir()
    with pytest.raises(ConfigError, match=re.escape(f"{file} cannot be read")):
        rules(str(tmp_path))
