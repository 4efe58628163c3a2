"""Whether a process that began something still runs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from memory.schema.holder import Fate, Holder, fate, own, parsed

TELLING = "from memory.schema.holder import own; import sys; print(own(), flush=True); sys.stdin.read()"

linux = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="only Linux tells when a process was started")


@given(st.builds(Holder, st.text("abc-/:[]09"), st.integers(0, 1 << 40), st.text("0123456789")))
def test_a_holder_comes_back_from_its_text(holder: Holder) -> None:
    assert parsed(str(holder)) == holder


@given(st.text())
def test_any_text_is_a_holder_or_none(text: str) -> None:
    found = parsed(text)

    assert found is None or str(found) == text or int(text.split(" ")[1]) == found.process
    assert fate(found) in Fate


def test_this_process_runs() -> None:
    assert fate(own()) is Fate.RUNS
    assert fate(parsed(str(own()))) is Fate.RUNS


def test_what_is_known_of_no_process_may_be_anywhere() -> None:
    assert fate(None) is Fate.ELSEWHERE
    assert fate(own()._replace(machine="another")) is Fate.ELSEWHERE


def test_a_process_runs_until_it_is_killed_also_while_nobody_asks_for_its_exit_code() -> None:
    child = subprocess.Popen([sys.executable, "-c", TELLING], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    with child:
        holder = parsed(child.stdout.readline().rstrip("\n"))
        assert holder is not None
        assert (holder.process, holder.machine) == (child.pid, own().machine)
        assert fate(holder) is Fate.RUNS

        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # it has ended, and is not taken off the table
        zombie = fate(holder)
        child.wait()

    assert child.returncode == -signal.SIGKILL
    assert fate(holder) is Fate.ENDED
    assert zombie is Fate.ENDED or not Path("/proc/self/stat").exists()


@linux
def test_another_process_under_the_same_id_is_another() -> None:
    assert fate(own()._replace(started=str(int(own().started) - 1))) is Fate.ENDED
    assert fate(own()._replace(started="")) is Fate.RUNS  # it may be the same


AS_NOBODY = """
import ctypes, os, sys
from memory.schema.holder import fate, own, parsed
own()
os.setuid(65534)
ctypes.CDLL(None).prctl(4, 1)  # PR_SET_DUMPABLE: who changes its user may not look at its own /proc any more
print(fate(parsed(sys.argv[1])))
"""


@linux
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_a_process_of_somebody_else_runs() -> None:
    told = subprocess.run([sys.executable, "-c", AS_NOBODY, str(own())], capture_output=True, text=True, check=True)

    assert told.stdout == "runs\n"
