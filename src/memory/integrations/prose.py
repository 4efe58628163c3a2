"""Instructions for agents in Markdown: a block in the user's file, or a file that is ours alone."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from memory.integrations.edits import Occupied
from memory.integrations.jsontext import MARK, Fault, blank

if TYPE_CHECKING:
    from typing import Self

BEGIN = "<!-- memory:begin · written by `memory setup`, which overwrites what stands up to the end mark -->"
END = "<!-- memory:end -->"

_MARK = re.compile(r"<!--\s*memory:(?:begin|end)")
_BEGIN = re.compile(rf"(?:^|\A{MARK})(<!-- memory:begin(?: ·[^\r\n<>]*)? -->)[ \t]*\r?$", re.MULTILINE)
_END = re.compile(rf"^({END})[ \t]*\r?$", re.MULTILINE)


class _Span(NamedTuple):
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class Block:
    """A marked block; what surrounds it is the user's."""

    body: str

    @property
    def text(self) -> str:
        return f"{BEGIN}\n{self.body.strip()}\n{END}"

    def install(self, text: str, *, force: bool) -> str:
        lines = "\r\n" if "\r\n" in text else "\n"
        block = self.text.replace("\n", lines)
        if found := self._found(text):
            return text[: found.start] + block + text[found.stop :]
        rest = text.removeprefix(MARK)
        gap = (lines * (2 - rest.endswith("\n"))) if rest.strip() else ""
        return text + gap + block + lines

    def uninstall(self, text: str, before: str | None) -> str:
        found = self._found(text)
        if not found:
            return text
        lines = "\r\n" if "\r\n" in text else "\n"
        head, tail = text[: found.start], text[found.stop :].lstrip("\r\n")
        if not tail:
            return head.removesuffix(lines) if head.endswith(lines * 2) else head
        head = head.rstrip("\r\n")
        return head + (lines * 2 if head and tail else lines * bool(head)) + tail

    def standing(self, text: str) -> Self | None:
        found = self._found(text)
        if not found:
            return None
        inside = text[found.start : found.stop].replace("\r\n", "\n")
        return type(self)(inside.partition("\n")[2].removesuffix(END))

    @staticmethod
    def _found(text: str) -> _Span | None:
        """
        The span of our block; None if there is none.

        Raises:
            Fault: A mark is not alone on its line or has no counterpart, or there is a second block.
        """
        marks = [found.start() for found in _MARK.finditer(text)]
        begins = [found.start(1) for found in _BEGIN.finditer(text)]
        ends = {found.start(1): found.end(1) for found in _END.finditer(text)}
        for place, at in enumerate(marks):
            if at not in (ends if place % 2 else begins):
                raise Fault("a mark of ours that is damaged or in the wrong place", at)
        if len(marks) % 2:
            raise Fault(f"no {END} follows", marks[-1])
        if len(marks) > 2:  # a block has two
            raise Fault("a second block of ours", marks[2])
        return _Span(marks[0], ends[marks[1]]) if marks else None


_SIGNED = re.compile(r"\n<!-- written by `memory setup`, ([0-9a-f]{12}) -->\n?\Z")


@dataclass(frozen=True, slots=True)
class Whole:
    """A file that is ours unless someone changed it, which a checksum in its last line shows."""

    body: str

    @property
    def text(self) -> str:
        body = self.body.strip() + "\n"
        return f"{body}\n<!-- written by `memory setup`, {_sum(body)} -->\n"

    def install(self, text: str, *, force: bool) -> str:
        if blank(text) or force or _unchanged(text):
            return self.text
        raise Occupied("it was changed by somebody", hint="Replace it: --force.")

    def uninstall(self, text: str, before: str | None) -> str:
        return "" if _unchanged(text) else text

    def standing(self, text: str) -> Self | None:
        if not _unchanged(text):
            return None
        return type(self)(_SIGNED.sub("", text.replace("\r\n", "\n")))


def _unchanged(text: str) -> bool:
    text = text.replace("\r\n", "\n")  # git may have changed the line ends
    found = _SIGNED.search(text)
    return bool(found) and found is not None and _sum(text[: found.start()].strip() + "\n") == found[1]


def _sum(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()[:12]
