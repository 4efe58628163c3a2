"""What happens to a draft before anything is written: secrets are removed, orders to an agent are flagged."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from typing import TYPE_CHECKING

from memory.config.files import SETTINGS_BYTES, contents
from memory.redact import Redactor
from memory.redact.ignore import FILE, parsed
from memory.schema.answer import Notice
from memory.schema.draft import NAMES, SHARED, Draft
from memory.schema.errors import ConfigError, Invalid
from memory.schema.memory import INSTRUCTIONS
from memory.text.injection import orders

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from memory.redact.patterns import Rule
    from memory.schema.document import Details
    from memory.schema.memory import Memory, Revision


OPEN = "<redacted>"
LEAKED = "If it was a real secret, change it where it counts: whoever wrote it here may have shown it elsewhere."


class Sanitizer:
    """Removes secrets and flags orders. Reads the user's rules at first use, and again when their file has changed."""

    def __init__(self, folder: str, aliases: Mapping[str, str]) -> None:
        """
        Args:
            folder: The folder of `.memoryignore`, if there is one.
            aliases: Names of projects; see `memory.config.project.aliases`.
        """
        self._folder, self._aliases = folder, aliases
        self._redactor = Redactor()
        self._stamp: tuple[int, int] | None = None

    def draft(self, draft: Draft) -> tuple[Draft, tuple[str, ...], tuple[Notice, ...]]:
        """
        A draft ready to be written, its flags (see `memory.schema.memory.Memory`), and notices about what was done.

        Raises:
            Invalid: A `<redacted>` is not closed, or a text is too long after markers replaced its secrets.
            ConfigError: A rule of `.memoryignore` cannot be used. Nothing may be written then.
        """
        clean, names = self._current().draft(draft)
        if project := self._aliases.get(clean.project or ""):
            clean = replace(clean, project=project)
        notices: tuple[Notice, ...] = ()
        if names:
            notices = (Notice(f"taken out before it was kept: {_counted(names)}", LEAKED),)
        text = "\n".join(_texts(clean))
        if OPEN in text.lower():
            notices += (Notice(f"{OPEN} without its end was taken for a placeholder: nothing was taken out there"),)
        if (phrase := orders(text)) is None:
            return clean, (), notices
        warning = f"kept, and marked wherever it is recalled: {phrase!r} looks like an order to the agent that reads it"
        return clean, (INSTRUCTIONS,), (*notices, Notice(warning))

    def text(self, text: str) -> str:
        """
        A text without its secrets.

        Raises:
            Invalid, ConfigError: As in `draft`.
        """
        return self._current().text(text).text

    def quoted(self, text: str) -> str:
        """
        A tool's input or output without its secrets; if it is JSON, also without values whose field names a secret.

        Raises:
            Invalid, ConfigError: As in `draft`.
        """
        redactor = self._current()
        try:
            clean, names = redactor.value(json.loads(text))
        except (ValueError, RecursionError, Invalid):  # not JSON, or nested too deep
            return redactor.text(text).text
        return json.dumps(clean, ensure_ascii=False) if names else text

    def problem(self) -> Notice | None:
        """What makes every save fail, if anything does."""
        try:
            self._current()
        except ConfigError as error:
            return Notice(f"nothing can be saved: {error}", error.hint)
        return None

    def secrets(self, details: Details) -> tuple[str, ...]:
        """The names of rules that today would remove something from a saved memory, or from its history."""
        names: list[str] = []
        for memory, body in ((details.memory, details.body), *((old.memory, old.body) for old in details.history)):
            try:
                names += self._current().draft(_as_draft(memory, body))[1]
            except Invalid as error:  # saved before the marker had a meaning
                names.append(str(error))
        return tuple(names)

    def revision(self, revision: Revision) -> Revision:
        """A former version of an imported memory, ready to be written."""
        memory = revision.memory
        clean, flags, _ = self.draft(_as_draft(memory, revision.body))
        fields = {name: getattr(clean, name) for name in SHARED}
        clean_memory = memory._replace(**fields, flags=flags, body_size=len(clean.body))
        return revision._replace(memory=clean_memory, body=clean.body)

    def _current(self) -> Redactor:
        try:
            status = os.stat(os.path.join(self._folder, FILE))
            stamp = (status.st_mtime_ns, status.st_size)
        except FileNotFoundError:
            stamp = None
        except OSError:
            stamp = (0, 0)  # reading the file will say what is wrong
        if stamp != self._stamp:
            self._redactor = Redactor(rules(self._folder))
            self._stamp = stamp
        return self._redactor


def rules(folder: str) -> tuple[Rule, ...]:
    """
    The rules of `.memoryignore` in a folder; none if the file does not exist.

    Raises:
        ConfigError: It cannot be read, is not UTF-8, or a line is not a rule. Names file and line,
            never the line's text.
    """
    path = os.path.join(folder, FILE)  # not pathlib, as in `memory.config.config`
    try:
        text = contents(path, SETTINGS_BYTES).decode("utf-8-sig")
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}", hint="Nothing is saved until it can.") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is not UTF-8: byte {error.start} is not", hint="Save it as UTF-8.") from error
    return parsed(text, path)


def _as_draft(memory: Memory, body: str) -> Draft:
    return Draft(**{name: getattr(memory, name) for name in SHARED}, body=body)


def _texts(draft: Draft) -> Iterator[str]:
    yield from (draft.title, draft.what, draft.why, draft.impact, draft.description, draft.body)
    yield from (*draft.tags, *draft.related_files)
    yield from filter(None, (getattr(draft, name) for name in NAMES))
    if draft.metadata:
        yield json.dumps(dict(draft.metadata), ensure_ascii=False)


def _counted(names: Iterable[str]) -> str:
    """Names with their counts: "aws-access-key, 2 bearer-token"."""
    counts: dict[str, int] = {}
    for name in names:
        counts[name] = counts.get(name, 0) + 1
    return ", ".join(name if count == 1 else f"{count} {name}" for name, count in counts.items())
