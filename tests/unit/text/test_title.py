"""The title that is read out of a text."""

from __future__ import annotations

import subprocess
import sys

import pytest

from memory.schema.errors import TITLE_LIMIT
from memory.text.markdown import TITLE_LINES, title


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("# Learning C#\n\ntext", "Learning C#"),
        ("# Learning C# #", "Learning C#"),
        ("# #5 is fixed", "#5 is fixed"),
        ("Guide\n=====\n\n# Other", "Guide"),
        ("\ufeffA long\n  guide\n===", "A long guide"),
        ("   # One", "One"),
        ("## Below\n\n# One", "One"),
        ("#\n\n# One", "One"),
        ("# A\r\rb", "A"),
        ("# a\u2028b", "a b"),
        ("x" * 300 + "\n===", "x" * TITLE_LIMIT),
    ],
)
def test_the_first_heading_of_the_first_level_is_the_title(text: str, found: str) -> None:
    assert title(text) == found


@pytest.mark.parametrize(
    "text",
    [
        "```sh\n# install\n```\n",
        "---\nname: a\n# a comment\n---\ntext",
        "<!--\n# old\n-->",
        "    # code",
        "- # item",
        "> # quote",
        "text\n---",
        "#",
        "",
    ],
)
def test_what_only_looks_like_a_heading_is_no_title(text: str) -> None:
    assert title(text) == ""


def test_a_heading_below_code_and_front_matter_is_the_title() -> None:
    assert title("---\nname: a\n# no\n---\n```\n# no\n```\n\n# Yes\n") == "Yes"


def test_a_heading_far_below_is_no_title() -> None:
    assert title("line\n" * (TITLE_LINES - 1) + "# In time") == "In time"
    assert title("line\n" * TITLE_LINES + "# Late") == ""


def test_a_text_without_marks_imports_no_parser() -> None:
    program = """if True:
        import sys
        from memory.text.markdown import title
        for text in ("plain text - a\\n---\\n" * 99, "# Guide"):
            title(text)
            print("pyromark" in sys.modules)
    """

    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert run.stdout.split() == ["False", "True"]
