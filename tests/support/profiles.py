"""
How many examples a law is shown: a matter of the profile, `quick`, `more` or `long`, and not of the law.

`make test` takes `quick`, which has the same examples in every run, so that what holds here holds elsewhere.
`make test-more` shows costly laws the examples of `more`, the same in every run as well.
`pytest --hypothesis-profile=long` looks further, at others each time: what it finds becomes an `@example` of the law.
"""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, settings

QUICK, MORE, LONG = 25, 100, 1_000


def load() -> None:
    """Make them known and begin with `quick`. A slow machine is no reason to fail: no example has a time limit."""
    slow = [HealthCheck.too_slow]
    settings.register_profile("quick", max_examples=QUICK, deadline=None, derandomize=True, suppress_health_check=slow)
    settings.register_profile("more", settings.get_profile("quick"), max_examples=MORE)
    settings.register_profile("long", settings.get_profile("quick"), max_examples=LONG, derandomize=False)
    settings.load_profile("quick")


def rounds(share: float) -> int:
    """How often something is tried that is no law: killed, say, at some moment; a share of the profile's examples."""
    return max(1, round(settings().max_examples * share))


def examples(share: float, **more: Any) -> settings:
    """The profile, with `share` times as many examples: more for a law with many cases, fewer for a costly one."""
    return settings(max_examples=rounds(share), **more)
