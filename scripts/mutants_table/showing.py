"""Mistakes in the page in the browser."""

from __future__ import annotations

from mutants_table.mutant import Mutant

SHOWING = (
    Mutant(
        "page-takes-forms-without-origin",
        'if origins != own and (origins or scope["method"] == "POST"):',
        "if origins and origins != own:",
        "test_ui.py",
    ),
    Mutant(
        "page-answers-any-port",
        "if len(hosts) != 1 or loopback(hosts[0].encode()) != self._port:",
        "if len(hosts) != 1 or not loopback(hosts[0].encode()):",
        "test_ui.py",
    ),
    Mutant("page-shows-markup", "        autoescape=True,\n", "        autoescape=False,\n", "test_ui.py"),
    Mutant(
        "page-leads-away",
        'if not wanted.startswith("/") or wanted.startswith("//")',
        'if not wanted.startswith("/")',
        "test_ui.py",
    ),
    Mutant(
        "page-overwrites-what-changed-meanwhile",
        'if visit.sent("_seen") != seen:',
        'if not visit.sent("_seen"):',
        "test_ui_mend.py",
    ),
    Mutant(
        "page-counts-what-is-being-typed",
        "scope=among), recorded=not typing)",
        "scope=among), recorded=True)",
        "test_ui.py",
    ),
    Mutant("page-leads-a-task-to-find", "progress), back=visit.next()\n", 'progress), back="/"\n', "test_ui_see.py"),
    Mutant("page-begins-any-command", "    if path not in SLOW:\n", "    if not path:\n", "test_ui_care.py"),
    Mutant(
        "graph-follows-every-relation",
        "if not types or relation.type in types:",
        "if relation.type:",
        "test_ui_see.py",
    ),
    Mutant(
        "map-draws-the-first-alone",
        "ids, pages = ids[::2], [np.concatenate(pages)[::2]]",
        "ids, pages = ids[:most], [np.concatenate(pages)[:most]]",
        "test_plane.py",
    ),
    Mutant(
        "review-asks-again",
        "return [row for place, row in enumerate(both) if place not in kept]",
        "return both",
        "test_ui_review.py",
    ),
    Mutant(
        "review-keeps-every-pair-of-a-series",
        "np.arange(len(both)) - begins < NEAREST",
        "np.arange(len(both)) - begins < len(both)",
        "test_twins.py",
    ),
    Mutant(
        "review-pairs-two-projects",
        "wanted: NDArray[np.bool_] = near & (group[ones] == group[others])",
        "wanted: NDArray[np.bool_] = group[ones] == group[others]",
        "test_twins.py",
    ),
)
