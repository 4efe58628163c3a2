"""Mistakes in the page in the browser."""

from __future__ import annotations

from mutants_table.mutant import Mutant

SHOWING = (
    Mutant(
        "page-takes-forms-without-origin",
        "web.server:Guard._answer",
        '!= own and (origins or scope["method"] == "POST")',
        "and origins != own",
        "test_ui.py",
    ),
    Mutant(
        "page-answers-any-port",
        "web.server:Guard._answer",
        "loopback(hosts[0].encode()) != self._port",
        "not loopback(hosts[0].encode())",
        "test_ui.py",
    ),
    Mutant("page-shows-markup", "web.site:environment", "autoescape=True,", "autoescape=False,", "test_ui.py"),
    Mutant("page-leads-away", "web.site:Visit.next", ') or wanted.startswith("//")', ")", "test_ui.py"),
    Mutant(
        "page-overwrites-what-changed-meanwhile",
        "web.mend:edited",
        'visit.sent("_seen") != seen',
        'not visit.sent("_seen")',
        "test_ui_mend.py",
    ),
    Mutant("page-counts-what-is-being-typed", "web.find:found", "not typing", "True", "test_ui.py"),
    Mutant("page-leads-a-task-to-find", "web.work:command", "visit.next()", '"/"', "test_ui_see.py"),
    Mutant(
        "graph-follows-every-relation",
        "web.entities:_around",
        "not types or relation.type in types",
        "relation.type",
        "test_ui_see.py",
    ),
    Mutant(
        "map-draws-the-first-alone",
        "web.plane:_drawn",
        ":2], [np.concatenate(pages)[::2",
        "most], [np.concatenate(pages)[:most",
        "test_plane.py",
    ),
    Mutant(
        "review-asks-again",
        "engine.review:alive",
        "[row for place, row in enumerate(both) if place not in kept]",
        "both",
        "test_ui_review.py",
    ),
    Mutant(
        "review-keeps-every-pair-of-a-series",
        "search.twins:_Closest.add",
        "rank < NEAREST",
        "rank < len(both)",
        "test_twins.py",
    ),
    Mutant(
        "review-pairs-two-projects",
        "search.twins:_togetherness.together",
        "near & (group[ones] == group[others])",
        "group[ones] == group[others]",
        "test_twins.py",
    ),
)
