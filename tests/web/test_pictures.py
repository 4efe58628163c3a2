"""The pictures of docs/web are drawn by `scripts/pictures.py`, all of them."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from page import serving, shell

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))

from pictures import FOLDER, HIGH, MODEL, PICTURES, WIDE, draw, filled


def test_the_documents_show_just_the_pictures_that_are_drawn():
    shown = re.findall(r"\]\(web/(\w+)\.png\)", FOLDER.with_suffix(".md").read_text("utf-8"))

    assert shown == [*PICTURES]
    assert {path.stem for path in FOLDER.iterdir()} == {*PICTURES}


def test_each_is_a_picture_of_its_page(driven, tmp_path):
    here = shell(tmp_path, MEMORY_EMBEDDING_PROVIDER="hashed", MEMORY_EMBEDDING_MODEL=MODEL["embedding.model"])
    ids = filled(here)
    with serving(here) as ui:
        draw(driven, ui, ids, tmp_path)
        for address in PICTURES.values():
            assert ui.get(address.format(**ids)).status == 200

    drawn = [(tmp_path / f"{name}.png").read_bytes() for name in PICTURES]
    assert [(int.from_bytes(one[16:20]), int.from_bytes(one[20:24])) for one in drawn] == [(WIDE, HIGH)] * len(drawn)
    assert len({*drawn}) == len(drawn)
