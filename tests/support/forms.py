"""Texts and the forms in which they are asked for: `forms.tsv`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple


class Form(NamedTuple):
    kind: str
    name: str
    saved: str
    asked: str


def _told(text: str) -> str:
    return re.sub(r"\\u([0-9a-f]{4})", lambda code: chr(int(code[1], 16)), text).replace("\\\\", "\\")


_LINES = Path(__file__).with_name("forms.tsv").read_text("utf-8").splitlines()[1:]

FORMS = [
    Form(kind, name, _told(saved), _told(asked)) for kind, name, saved, asked in (line.split("\t") for line in _LINES)
]
