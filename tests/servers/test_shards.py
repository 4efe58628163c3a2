"""A memory that is divided: a database a project, by the commands of docs/postgres.md."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import postgres
import pytest
from command import COMMAND, Shell

pytestmark = pytest.mark.skipif(not postgres.URL, reason="MEMORY_TEST_POSTGRES names no server: make test-postgres")

PAGE = Path(__file__).parents[2] / "docs/postgres.md"


def documented() -> str:
    """The lines of the page that take one project out of a memory, and put it into another."""
    [lines] = re.findall(r"```sh\n(createdb -h second.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    return "\n".join(line for line in lines.splitlines() if "memory export" in line or ".jsonl" in line)


@pytest.fixture
def second():
    """A database of another server, as far as anybody can tell."""
    with postgres.another("memory_shop") as url:
        yield url


@pytest.mark.skipif(shutil.which("grep") is None, reason="there is no grep")
def test_a_project_gets_a_database_of_its_own_with_ids_times_and_history(second, tmp_path) -> None:
    first = Shell(tmp_path / "home", tmp_path, {"MEMORY_STORE_URL": postgres.emptied()})
    for name, project in (("cart", "shop"), ("till", "shop"), ("shift", "office")):
        first("save", name, "--what", f"how the {name} works", "--project", project)
    first("update", "1", "--what", "how the cart is emptied")
    cart, till, shift = (first("details", number, "--json").json for number in "123")
    script = documented().replace("postgresql://me@second/shop", f"'{second}'")

    done = subprocess.run(
        ["sh", "-ec", script],
        cwd=tmp_path,
        env=first.env | {"PATH": f"{COMMAND.parent}:{first.env['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )

    assert (done.returncode, done.stderr) == (0, ""), done
    shop = Shell(tmp_path / "home", tmp_path, {"MEMORY_STORE_URL": second})
    assert [hit["title"] for hit in shop("search", "works", "--mode", "keyword", "--json").json["hits"]] == ["till"]
    for before in (cart, till):
        after = shop("details", before["memory"]["id"], "--json").json
        for one in (before, after):
            for changing in ("memory_id", "accessed_at", "access_count"):
                del one["memory"][changing]
        assert (after["memory"], len(after["history"])) == (before["memory"], len(before["history"]))
    assert "how the cart works" in str(shop("details", cart["memory"]["id"], "--json").json["history"])
    assert "no memory" in shop("details", shift["memory"]["id"], code=1).err
