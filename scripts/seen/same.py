"""What differs between two runs on one commit, and what stands in its place. Nothing is left out anywhere else."""

from __future__ import annotations

import re
import sysconfig
from datetime import UTC, datetime, timedelta
from pathlib import Path

UID = re.compile(r"(?<![0-9a-f])[0-9a-f]{32}(?![0-9a-f])")
SHORT = re.compile(r"(?<![0-9a-f])[0-9a-f]{8}(?![0-9a-f])")
RUN = re.compile(r"query_\d{10}_\d+")
CHANGING = (
    (re.compile(r"(memories )[0-9a-f]{12}\b"), r"\1<boundary>"),
    (re.compile(r"\b1[789]\d{8}\.\d+"), "<epoch.fraction>"),
    (re.compile(r"\b1[789]\d{8}\b"), "<epoch>"),
    (re.compile(r"""(\\?"tokens\\?": ?|\btokens=)\d+"""), r"\1<tokens>"),  # of text with uids and boundaries
    (re.compile(r"<function [^\n]*? at 0x[0-9a-f]+>"), "<function>"),
    (re.compile(r" at 0x[0-9a-f]+"), " at <address>"),
    (re.compile(r"datetime\.datetime\(20[23]\d(?:, \d+)+"), "datetime.datetime(<moment>"),
    (re.compile(r"(\b127\.0\.0\.1:)\d{5}\b"), r"\1<port>"),
    (re.compile(r"\bpid \d+"), "pid <pid>"),
)
SPENT = (
    (re.compile(r"""(\\?"seconds\\?": ?|\bseconds=)[\d.]+(e-\d+)?"""), r"\1<seconds>"),
    (re.compile(r" *\b[\d.,]+ ms\b"), " <time> ms"),
    (re.compile(r" +\d+\.\d(?= +(?:-|\$[\d.]+)$)", re.MULTILINE), " <seconds>"),
    (re.compile(r" \d+\.\d \| \d+\.\d \|$", re.MULTILINE), " <p50> | <p95> |"),
    (re.compile(r"""("(?:p50|p95|milliseconds|ms)\w*": )[\d.]+(e-\d+)?"""), r"\1<time>"),
    (re.compile(r"(the slowest step was )\w+"), r"\1<step>"),
    (re.compile(r"\b\d+\.\d{3} s\b"), "<seconds> s"),
)
"""How long something took; not in files whose times were given."""


def same(files: dict[str, str], place: Path, *, given: set[str], told: str) -> dict[str, str]:
    """
    The files with what changes from run to run replaced. Uids and runs are numbered within each file as they come.

    Args:
        place: The temporary folder of the run.
        given: Files that show only times that were put in.
        told: What names, in full, uids that files may show the beginning of alone.
    """
    known = {uid[:8] for text in (*files.values(), told) for uid in UID.findall(text)}
    days = [datetime.now(UTC) - timedelta(days=back) for back in (0, 1, 90, 91)]
    today = re.compile(
        "(?:" + "|".join(f"{day:%Y-%m-%d}" for day in days) + r")((?:[T ]\d\d[:-]\d\d(?:[:-]\d\d(?:\.\d+)?)?)?)"
    )
    paths = {sysconfig.get_path("scripts"): "<bin>", str(place): "<place>", str(Path(__file__).parents[2]): "<root>"}

    def one(name: str, text: str) -> str:
        for path, stands in paths.items():
            text = text.replace(path, stands)
        seen: dict[str, int] = {}

        def number(key: str) -> int:
            return seen.setdefault(key, len(seen) + 1)

        text = UID.sub(lambda found: f"<uid {number(found[0][:8])}>", text)
        text = SHORT.sub(lambda found: f"<uid {number(found[0])} short>" if found[0] in known else found[0], text)
        text = RUN.sub(lambda found: f"<run {number(found[0])}>", text)
        text = today.sub(lambda found: "<today" + re.sub(r"\d", "0", found[1]) + ">", text)
        for pattern, stands in CHANGING if name in given else CHANGING + SPENT:
            text = pattern.sub(stands, text)
        return text

    return {name: one(name, text) for name, text in files.items()}
