"""Instructions for agents in Markdown: a block in a file of the user's, or a file that is ours alone."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memory.setup.edits import Occupied
from memory.setup.jsontext import MARK, Fault, blank

if TYPE_CHECKING:
    from typing import Self

BEGIN = "<!-- memory:begin · written by `memory setup`, which overwrites what stands up to the end mark -->"
END = "<!-- memory:end -->"

_BEGIN = re.compile(r"<!-- memory:begin\b.*?-->")
_BLOCK = re.compile(r"<!-- memory:begin\b.*?-->.*?<!-- memory:end -->", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Block:
    """A marked block; what stands around it is the user's."""

    body: str

    @property
    def text(self) -> str:
        return f"{BEGIN}\n{self.body.strip()}\n{END}"

    def put(self, text: str, *, force: bool) -> str:
        lines = "\r\n" if "\r\n" in text else "\n"
        block = self.text.replace("\n", lines)
        if found := self._found(text):
            return text[: found.start()] + block + text[found.end() :]
        rest = text.removeprefix(MARK)
        gap = (lines * (2 - rest.endswith("\n"))) if rest.strip() else ""
        return text + gap + block + lines

    def take(self, text: str, before: str | None) -> str:
        found = self._found(text)
        if not found:
            return text
        head, tail = text[: found.start()].rstrip("\r\n"), text[found.end() :].lstrip("\r\n")
        lines = "\r\n" if "\r\n" in text else "\n"
        return head + (lines * 2 if head and tail else lines * bool(head)) + tail

    def standing(self, text: str) -> Self | None:
        found = self._found(text)
        if not found:
            return None
        inside = found[0].replace("\r\n", "\n")
        return type(self)(_BEGIN.sub("", inside, count=1).removesuffix(END))

    def current(self, text: str) -> bool:
        return self.put(text, force=False) == text

    def snippet(self) -> str:
        return self.text + "\n"

    @staticmethod
    def _found(text: str) -> re.Match[str] | None:
        begins = list(_BEGIN.finditer(text))
        found = _BLOCK.search(text)
        if len(begins) > 1 or (begins and not found):
            at = begins[1] if len(begins) > 1 else begins[0]
            raise Fault("a second block of ours" if len(begins) > 1 else f"no {END} follows", at.start())
        return found


_SIGNED = re.compile(r"\n<!-- written by `memory setup`, ([0-9a-f]{12}) -->\n?\Z")


@dataclass(frozen=True, slots=True)
class Whole:
    """A file that is ours as long as nobody changed it, which a checksum in its last line tells."""

    body: str

    @property
    def text(self) -> str:
        body = self.body.strip() + "\n"
        return f"{body}\n<!-- written by `memory setup`, {_sum(body)} -->\n"

    def put(self, text: str, *, force: bool) -> str:
        if blank(text) or force or _unchanged(text):
            return self.text
        raise Occupied("it was changed by somebody", hint="Replace it: --force.")

    def take(self, text: str, before: str | None) -> str:
        return "" if _unchanged(text) else text

    def standing(self, text: str) -> Self | None:
        if not _unchanged(text):
            return None
        return type(self)(_SIGNED.sub("", text.replace("\r\n", "\n")))

    def current(self, text: str) -> bool:
        return text == self.text

    def snippet(self) -> str:
        return self.text


def _unchanged(text: str) -> bool:
    text = text.replace("\r\n", "\n")  # what git may have made of it
    found = _SIGNED.search(text)
    return bool(found) and found is not None and _sum(text[: found.start()].strip() + "\n") == found[1]


def _sum(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()[:12]
