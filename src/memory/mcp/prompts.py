"""What a person may have an agent do by name: recall what is known, or save what was learned."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from memory.operations.render import recall
from memory.schema.errors import Invalid, NotFound
from memory.schema.kinds import CATEGORIES
from memory.schema.query import around

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from memory.engine import Engine


class Prompt(NamedTuple):
    """
    Attributes:
        argument: The one thing it may be given, with its meaning.
        text: What the agent is told, given that, the client's project and the engine.
    """

    name: str
    title: str
    description: str
    argument: str
    meaning: str
    text: Callable[[str, str | None, Engine], str]

    def given(self, arguments: Mapping[str, str]) -> str:
        """
        Raises:
            Invalid: There is an argument that it does not take.
        """
        for name in arguments:
            if name != self.argument:
                raise Invalid(f"{self.name} takes no {name[:60]!r}", hint=f"It takes {self.argument!r}.")
        return arguments.get(self.argument, "")


def _recall(about: str, project: str | None, engine: Engine) -> str:
    scope = around(project)
    found = engine.context(about, scope=scope, beside=partial(recall.beside, project=project))
    asked = (
        f"What do we know already about: {about}" if about.strip() else "What do we know already about this project?"
    )
    listed = recall.context(found, project=project, empty="Nothing is kept here yet.")
    return (
        f"{asked}\n\n{listed}\nTell me in a few sentences what of this matters now, with ids, and what may be out of "
        "date. Use memory_search and memory_details where the summary is not enough."
    )


def _save(about: str, project: str | None, _engine: Engine) -> str:
    what = f"this: {about}" if about.strip() else "what this session settled"
    where = f" of the project {project}" if project else ""
    return (
        f"Save {what}, for later sessions{where}. First look with memory_search whether it is known; if an earlier memory no "
        "longer holds, supersede it by its id. Then call memory_save once for each fact that a later session would have to find out again: "
        f"a title that names it, what is the case, why, what follows, and a category ({', '.join(CATEGORIES)}). Leave out what "
        "the code or its history already says, and anything secret. Tell me what you saved."
    )


PROMPTS = (
    Prompt(
        "recall",
        "Recall what is known",
        "Look up what earlier sessions found out, about a task or about the project.",
        "about",
        "The task, in plain words.",
        _recall,
    ),
    Prompt(
        "save",
        "Save what was learned",
        "Go through this session and keep what a later one will need.",
        "about",
        "Only this, instead of all that was settled.",
        _save,
    ),
)


def named(name: str) -> Prompt:
    """
    Raises:
        NotFound: There is no such prompt.
    """
    if found := next((one for one in PROMPTS if one.name == name), None):
        return found
    raise NotFound(f"no prompt {name[:60]!r}", hint=f"There are: {', '.join(one.name for one in PROMPTS)}.")
