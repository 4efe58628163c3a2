"""What is bold or dim in what a person reads."""

import click
import pytest

from memory.text.display import BOLD, DIM, YELLOW, styled


@pytest.mark.parametrize(("how", "style"), [(BOLD, {"bold": True}), (DIM, {"dim": True}), (YELLOW, {"fg": "yellow"})])
def test_a_text_is_styled_as_click_does_and_click_takes_it_out(how, style):
    assert styled("a text", how) == click.style("a text", **style)
    assert click.unstyle(styled("a text", how)) == "a text"
