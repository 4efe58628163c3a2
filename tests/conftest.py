"""What holds for every test: it depends neither on how the suite was started nor on how fast the machine is."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import profiles
import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

profiles.load()


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Names of tests are the same in every process: what is packed holds the time at which it was."""
    return argname if isinstance(val, bytes) else None


ENDING = (signal.SIGINT, signal.SIGTERM)


@pytest.fixture(scope="session", autouse=True)
def _signals() -> Iterator[None]:
    """
    Signals do what they do in a terminal.

    A shell without job control starts what stands before an `&` with SIGINT ignored, and a child inherits that; Python
    then installs no handler for it. A handler of ours is not inherited: children begin with the default.
    """
    before = {number: signal.getsignal(number) for number in ENDING}
    masked = signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)
    for number, handler in before.items():
        if handler is signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    yield
    signal.pthread_sigmask(signal.SIG_SETMASK, masked)
    for number, handler in before.items():
        signal.signal(number, handler)
