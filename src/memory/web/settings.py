"""Look after: every setting, where its value comes from, and a form to change it with the same checks as a command."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memory.cli import forms
from memory.cli.settings import set_, show, unset

if TYPE_CHECKING:
    from starlette.responses import Response

    from memory.operations.operation import Command, Shown
    from memory.web.site import Visit

OF_ALL = "general"
"""The section of settings that stand in none."""


def page(visit: Visit) -> Response:
    """The settings by section; what was changed stands open to the eye."""
    found = _run(visit, show, {}).data or {}
    sections: dict[str, list[dict[str, Any]]] = {}
    for one in found["settings"]:
        section = one["key"].rpartition(".")[0] or OF_ALL
        sections.setdefault(section, []).append(one | {"changed": one["origin"] != "default", "text": _text(one)})
    return visit.page("settings.html", sections=sections, file=found["file"], asked=visit.asked("key"))


def change(visit: Visit) -> Response:
    """`memory config set` or `memory config unset`, for one setting."""
    key = visit.sent("key")

    def work() -> None:
        command, words = (unset, [key]) if visit.sent("usual") else (set_, [key, visit.sent("value")])
        shown = _run(visit, command, {"key": words})
        visit.say(forms.said(shown), ". ".join(shown.warnings))

    return visit.done(work)


def _run(visit: Visit, command: Command, fields: dict[str, list[str]]) -> Shown:
    arguments = forms.filled(command, fields)
    with visit.engine as engine:
        return forms.run(command, arguments, engine, visit.site.flags)


def _text(one: dict[str, Any]) -> str:
    value = one["value"]
    return str(value).lower() if isinstance(value, bool) else str(value)


PAGES = {"GET /care/settings": page, "POST /care/settings": change}
