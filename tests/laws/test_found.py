"""Whatever is in a folder: what was found is saved, updated, already there, or left out by name and with a reason."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import pytest
from command import Shell
from hypothesis import given, strategies as st
from profiles import examples


class Kind(NamedTuple):
    """A kind of file: its name and its content by a number, how much is found in it, and how much of that is left out."""

    name: str
    content: str | bytes
    found: int = 1
    left: int = 0


MEM0 = '[{"id": "a%(n)s", "memory": "word%(n)sx is said"}, {"id": "b%(n)s", "memory": ""}]'
KINDS = {
    "note": Kind("%(n)s.md", "# Note %(n)s\n\nword%(n)sx"),
    "properties": Kind("%(n)s.md", "---\nstatus: word%(n)sx\n---\n"),
    "broken": Kind("%(n)s.md", "---\nstatus: a: [word%(n)sx\n---\ntext %(n)s"),
    "same": Kind("%(n)s.md", "---\ntitle: word%(n)sx\n---\nthe same text\n"),
    "empty": Kind("%(n)s.md", "\n", left=1),
    "binary": Kind("%(n)s.md", b"\xff\xfe", left=1),
    "picture": Kind("%(n)s.png", b"\x89PNG", left=1),
    "json": Kind("%(n)s.json", '{"name": "package"}', left=1),
    "mem0": Kind("%(n)s.json", MEM0, found=2, left=1),
    "cut": Kind("%(n)s.zip", b"PK\x03\x04cut off", left=1),
    "hidden": Kind(".%(n)s.md", "# Hidden", found=0),
}
FILES = st.lists(st.tuples(st.sampled_from(sorted(KINDS)), st.sampled_from(["", "deep/", "deep/er/"])), max_size=8)


def written(files: list[tuple[str, str]], first: int) -> dict[str, tuple[Kind, bytes]]:
    """The files by their paths, each with words of its own."""
    made = {}
    for number, (kind, folder) in enumerate(files, start=first):
        one = KINDS[kind]
        content = one.content if isinstance(one.content, bytes) else (one.content % {"n": number}).encode()
        made[folder + one.name % {"n": number}] = (one, content)
    return made


def archive(files: dict[str, tuple[Kind, bytes]]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as file:
        for name, (_, content) in files.items():
            file.writestr(name, content)
    return packed.getvalue()


def shell_with(root: str, files: dict[str, tuple[Kind, bytes]], members: dict[str, tuple[Kind, bytes]]) -> Shell:
    folder = Path(root, "notes")
    folder.mkdir()
    for name, (_, content) in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    if members:
        (folder / "packed.zip").write_bytes(archive(members))
    return Shell(Path(root, "home"), folder, {"MEMORY_EMBEDDING_PROVIDER": "none"})


def check(became: dict, files: dict[str, tuple[Kind, bytes]], kinds: list[Kind]) -> None:
    """The sum adds up, it is the sum of what was there, and what was left out is what could not be taken."""
    left = became["left_out"]
    assert became["found"] == became["kept"] + became["updated"] + became["known"] + len(left)
    assert became["found"] == sum(one.found for one in kinds)
    assert len(left) == sum(one.left for one in kinds)
    assert all(one["name"] and one["why"] for one in left)
    for name, (one, _) in files.items():
        assert any(name in lost["name"] for lost in left) is bool(one.left), name


@examples(1)
@given(FILES, FILES)
def test_all_that_an_import_finds_is_in_its_sum(files: list[tuple[str, str]], packed: list[tuple[str, str]]) -> None:
    with TemporaryDirectory() as root:
        outer, inner = written(files, 0), written(packed, len(files))
        shell = shell_with(root, outer, inner)
        every = outer | inner
        kinds = [one for one, _ in every.values()]
        if not any(one.found > one.left for one in kinds):
            return

        first, again = (shell("import", ".", "--json", code=None).json for _ in range(2))

        check(first, every, kinds)
        check(again, every, kinds)
        assert (again["kept"], again["updated"]) == (0, 0)
        said = shell("export").out
        for name, (one, content) in every.items():
            if one.found > one.left and b"word" in content:
                word = f"word{Path(name).stem}x"
                assert word in said, (name, word)


@pytest.mark.parametrize("command", ["watch", "mirror"])
@examples(0.6)
@given(FILES)
def test_all_that_a_look_finds_is_in_its_sum(command: str, files: list[tuple[str, str]]) -> None:
    with TemporaryDirectory() as root:
        made = written(files, 0)
        shell = shell_with(root, made, {})
        other = {
            name: (one._replace(left=1, found=1), text) for name, (one, text) in made.items() if "md" not in one.name
        }
        made |= other
        kinds = [one for one, _ in made.values()]
        words = [command, ".", "--once"] if command == "watch" else [command, "."]

        first, again = (json.loads(shell(*words, "--json", code=None).out.splitlines()[-1]) for _ in range(2))

        check(first, made, kinds)
        check(again, made, kinds)
        assert (again["kept"], again["updated"]) == (0, 0)
        said = shell("export").out
        for name, (one, content) in made.items():
            if one.found > one.left and b"word" in content:
                assert f"word{Path(name).stem}x" in said, name


def test_ten_of_what_was_left_out_are_told_and_the_others_are_counted(tmp_path: Path) -> None:
    made = written([("note", ""), *[("picture", "")] * 30], 0)
    shell = shell_with(str(tmp_path), made, {})

    for words in (["import", "."], ["watch", ".", "--once"], ["mirror", "."]):
        said = shell(*words).err.splitlines()

        assert sum("left out: " in line and ".png" in line for line in said) == 10, words
        assert said[-1].endswith("left out: 20 more, which --json names"), words
