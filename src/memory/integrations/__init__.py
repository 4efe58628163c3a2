"""
Adapters for frameworks, each over the public library: a module, and an extra of the package, for each.

Here are the two tools that agents of a framework get, recall and remember: named and described once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory import AsyncEngine, Draft, Scope

if TYPE_CHECKING:
    from memory import Engine


class Verbs:
    """The functions that become tools: their names, docstrings and parameters are what a model reads."""

    def __init__(self, engine: Engine, *, project: str | None = None) -> None:
        """
        Args:
            project: New memories belong to it. Memories of this project and of no project are recalled.
        """
        self._engine, self._project = AsyncEngine(lambda: engine), project

    async def recall_memories(self, question: str) -> str:
        """
        Recall what was remembered earlier: decisions, preferences, facts, findings. Ask before you guess or ask the user.

        Args:
            question: What you want to know, in a sentence or in words that may stand in it.
        """
        scope = Scope(projects=frozenset({self._project, ""})) if self._project else Scope()  # "": of no project
        return (await self._engine.context(question, scope=scope)).text

    async def remember(self, title: str, what: str, why: str = "") -> str:
        """
        Remember one fact, decision or preference for later sessions. Never a secret.

        Args:
            title: One line that names it.
            what: The fact, in a sentence or two.
            why: The reason, if there is one.
        """
        saved = await self._engine.save(Draft(title=title, what=what, why=why, project=self._project))
        notices = "".join(f" {notice.text}." for notice in saved.notices)
        return f"{'Known already' if saved.known else 'Remembered'} as {saved.memory.short_id}.{notices}"
