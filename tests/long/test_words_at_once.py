"""Word vectors are made by whoever has the time: killed, at once, on a full disk, where nothing may be written."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from quick import Quick

from memory.vectors.words import PAGE, listed, make, opened

SUPPORT = Path(__file__).parents[1] / "support"

MAKE = f"""
import sys
sys.path.insert(0, {str(SUPPORT)!r})
from pathlib import Path
from quick import Quick
from memory.vectors.words import make
"""

ALL = MAKE + "make(Quick(), Path(sys.argv[1]), progress=lambda done, _total: print(done, flush=True))"

TOO_LARGE = f"""
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000))
from memory.schema.errors import EmbedError
{MAKE}
try:
    make(Quick(), Path(sys.argv[1]))
except EmbedError as error:
    sys.exit(str(error))
"""


PAGE_BY_PAGE = f"""{MAKE}
def progress(done, _total):
    print(done, flush=True)
    sys.stdin.readline()

make(Quick(), Path(sys.argv[1]), progress=progress)
"""


SLOWER_BETWEEN = f"""{MAKE}
from memory.vectors.words import PAGE

path, successor, page, seen = Path(sys.argv[1]), Path(sys.argv[1] + ".next"), [], []

def progress(done, total):
    if done == PAGE:
        page.append(successor.read_bytes())
    seen[:] = [0] if done == total else []

def arrives(event, arguments):  # whenever the whole successor is to be read a second time
    if seen and event == "open" and str(arguments[0]) == str(successor) and arguments[1] in ("r", "rb"):
        seen[0] += 1
        if seen[0] == 2:
            successor.write_bytes(page[0])

sys.addaudithook(arrives)
make(Quick(), path, progress=progress)
"""


def begun(program: str, path: Path) -> subprocess.Popen[str]:
    pipe = subprocess.PIPE
    return subprocess.Popen([sys.executable, "-c", program, str(path)], stdin=pipe, stdout=pipe, stderr=pipe, text=True)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "words"


def test_after_kill_9_whole_pages_are_there_and_the_next_goes_on(path: Path) -> None:
    with begun(PAGE_BY_PAGE, path) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == f"{PAGE}\n"
        child.kill()
    assert child.returncode == -signal.SIGKILL
    found = opened(path)
    assert found is not None
    assert found.count == PAGE
    model = Quick()

    make(model, path)

    assert opened(path).whole
    assert model.texts == len(listed()) - found.count


@pytest.mark.parametrize("pages", [1, 4])
def test_after_kill_9_a_damaged_file_serves_and_the_next_goes_on_beside_it(path: Path, pages: int) -> None:
    make(Quick(), path)
    whole = path.read_bytes()
    damaged = whole[:-1] + bytes([whole[-1] ^ 1])
    path.write_bytes(damaged)
    with begun(PAGE_BY_PAGE, path) as child:
        for page in range(1, pages + 1):
            assert child.stdout.readline() == f"{page * PAGE}\n"
            if page < pages:
                child.stdin.write("\n")
                child.stdin.flush()
        child.kill()
    assert child.returncode == -signal.SIGKILL
    assert path.read_bytes() == damaged
    model = Quick()

    make(model, path)

    assert path.read_bytes() == whole
    assert model.texts == len(listed()) - pages * PAGE
    assert {one.name for one in path.parent.iterdir()} == {"words"}


@pytest.mark.parametrize("damaged", [False, True])
def test_processes_that_make_them_at_once_end_with_one_whole_file(path: Path, *, damaged: bool) -> None:
    if damaged:
        make(Quick(), path)
        path.write_bytes(path.read_bytes()[:-1] + b"\0")
        assert not opened(path).sound
    children = [begun(ALL, path) for _ in range(3)]
    for child in children:
        with child:
            _, told = child.communicate(timeout=120)
        said = [f"the word vectors in {path} are made again: they are damaged"] if damaged else []
        assert (child.returncode, told.splitlines()) in ((0, []), (0, said))

    alone = path.with_name("alone")
    make(Quick(), alone)
    assert path.read_bytes() == alone.read_bytes()
    assert {one.name for one in path.parent.iterdir()} == {"words", "alone"}


def test_a_slower_one_takes_no_words_away(path: Path) -> None:
    """It wrote a page beside after another had all words in place."""
    make(Quick(), path)
    whole = path.read_bytes()
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    with begun(PAGE_BY_PAGE, path) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == f"{PAGE}\n"
        page = path.with_name("words.next").read_bytes()
        make(Quick(), path)
        path.with_name("words.next").write_bytes(page)
        child.communicate("\n" * 100, timeout=120)

    assert path.read_bytes() == whole
    assert {one.name for one in path.parent.iterdir()} == {"words"}


def test_a_slower_one_takes_no_words_away_from_one_that_has_read_them_all(path: Path) -> None:
    """It wrote its page beside after another had found all words there, and before they were put in place."""
    make(Quick(), path)
    whole = path.read_bytes()
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))

    with begun(SLOWER_BETWEEN, path) as child:
        _, told = child.communicate(timeout=120)

    assert (child.returncode, told) == (0, f"the word vectors in {path} are made again: they are damaged\n")
    assert path.read_bytes() == whole


def test_on_a_full_disk_what_was_written_stays(path: Path) -> None:
    with begun(TOO_LARGE, path) as child:
        _, told = child.communicate(timeout=120)

    assert (child.returncode, told) == (1, f"cannot write {path}: File too large\n")
    assert opened(path).count < len(listed())
    assert {one.name for one in path.parent.iterdir()} == {"words"}
    make(Quick(), path)
    assert opened(path).whole


def test_a_reader_keeps_what_it_mapped_while_others_write(path: Path) -> None:
    with begun(PAGE_BY_PAGE, path) as child:
        assert child.stdout is not None
        child.stdout.readline()
        found = opened(path)
        before = found.rows()
        child.communicate("\n" * 100, timeout=120)

    assert opened(path).whole
    assert found.rows().keys() == before.keys()
