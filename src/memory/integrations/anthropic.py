"""
`MemoryTool` and `AsyncMemoryTool`: the memory tool of Claude over a memory, each file a memory of its own. They need the
extra `anthropic`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, NoReturn

from memory import AsyncEngine, Invalid, KeyedStore

try:
    from anthropic.lib.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool, ToolError
except ImportError as error:
    raise ImportError("MemoryTool needs Anthropic's SDK: pip install 'tiermem[anthropic]'") from error

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from anthropic.types.beta import (
        BetaMemoryTool20250818CreateCommand,
        BetaMemoryTool20250818DeleteCommand,
        BetaMemoryTool20250818InsertCommand,
        BetaMemoryTool20250818RenameCommand,
        BetaMemoryTool20250818StrReplaceCommand,
        BetaMemoryTool20250818ViewCommand,
    )

ROOT = "/memories"
NAMESPACE = ("anthropic",)
"""The namespace of the files: below it, each folder is a label, and a file's name is its key."""

MAX_LINES, WIDTH = 999_999, 6  # as the tool of the SDK counts lines, and as wide as it writes their numbers
FILES = 10_000  # of one folder, with all below it
REDACTED = " What looked like a secret was replaced by a marker, as in all that is saved."


class File(NamedTuple):
    """
    Attributes:
        path: Its folders and its name, below the root.
    """

    path: tuple[str, ...]
    text: str


class MemoryTool(BetaAbstractMemoryTool):
    """
    Claude's files below /memories, each a memory of kind `item` that search finds.

        >>> runner = client.beta.messages.tool_runner(tools=[MemoryTool(KeyedStore(engine))], ...)

    Its answers and errors are those of the SDK's own tool for files on a disk. A folder exists while it contains a file.
    Deleted files are in the trash, earlier versions in the memory's history.
    """

    def __init__(self, items: KeyedStore, *, namespace: Sequence[str] = NAMESPACE) -> None:
        """
        Args:
            items: The store of the files. The caller closes it.
            namespace: The namespace of the files, such as ("anthropic", "ann") to separate people.
        """
        super().__init__()
        self._items, self._namespace = items, tuple(namespace)

    def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        path = _parts(command.path)
        if (text := self._text(path)) is None:
            return self._listing(command.path, path)
        lines = text.split("\n")
        if len(lines) > MAX_LINES:
            raise ToolError(f"File {command.path} exceeds maximum line limit of 999,999 lines.")
        first, last = 0, len(lines)
        if command.view_range and len(command.view_range) == 2:
            first = max(1, command.view_range[0]) - 1
            last = last if command.view_range[1] == -1 else command.view_range[1]
        shown = _numbered(lines[first:last], first + 1)
        return f"Here's the content of {command.path} with line numbers:\n" + "\n".join(shown)

    def _listing(self, name: str, path: tuple[str, ...]) -> str:
        files = [*self._below(path)]
        if not files and path:
            raise ToolError(f"The path {name} does not exist. Please provide a valid path.")
        sizes: dict[tuple[str, ...], int] = {(): 0}
        folders = set()
        for file in files:
            size, own = len(file.text.encode()), file.path[len(path) :]
            sizes[()] += size
            for depth in range(1, min(2, len(own)) + 1):
                if any(label.startswith(".") for label in own[:depth]):
                    break
                sizes[own[:depth]] = sizes.get(own[:depth], 0) + size
                if depth < len(own):
                    folders.add(own[:depth])
        lines = [
            f"{_size(size)}\t{'/'.join((name, *own))}{'/' * (own in folders)}" for own, size in sorted(sizes.items())
        ]
        header = f"Here're the files and directories up to 2 levels deep in {name}, excluding hidden items:"
        return "\n".join((header, *lines))

    def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        path = _parts(command.path)
        if not path or self._text(path) is not None or any(self._below(path)):
            raise ToolError(f"File {command.path} already exists")
        self._check_folders(path, command.path)
        redacted = self._write(path, command.file_text)
        return f"File created successfully at: {command.path}{redacted}"

    def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        path, text = self._file(command.path)
        old = command.old_str
        count = text.count(old)
        if count == 0:
            raise ToolError(f"No replacement was performed, old_str `{old}` did not appear verbatim in {command.path}.")
        if count > 1:
            places = [at for at in range(len(text)) if text.startswith(old, at)]
            lines = ", ".join(str(text.count("\n", 0, at) + 1) for at in places)
            raise ToolError(
                f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: {lines}. "
                "Please ensure it is unique"
            )
        line = text.count("\n", 0, text.find(old))
        new = text.replace(old, command.new_str)
        redacted = self._write(path, new)
        first = max(0, line - 2)
        snippet = "\n".join(_numbered(new.split("\n")[first : line + 3], first + 1))
        edited = "The memory file has been edited. Here is the snippet showing the change (with line numbers):"
        return f"{edited}\n{snippet}{redacted}"

    def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        path, text = self._file(command.path)
        lines = text.split("\n")
        if not lines[-1]:
            lines.pop()
        if not 0 <= command.insert_line <= len(lines):
            raise ToolError(
                f"Invalid `insert_line` parameter: {command.insert_line}. "
                f"It should be within the range [0, {len(lines)}]."
            )
        lines.insert(command.insert_line, command.insert_text.rstrip("\n"))
        new = "\n".join(lines)
        redacted = self._write(path, new if new.endswith("\n") else f"{new}\n")
        return f"The file {command.path} has been edited.{redacted}"

    def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        path = _parts(command.path)
        if not path:
            raise ToolError("Cannot delete the /memories directory itself")
        gone = [path] if self._text(path) is not None else [file.path for file in self._below(path)]
        if not gone:
            raise ToolError(f"The path {command.path} does not exist")
        for one in gone:
            self._items.delete(*self._place(one))
        return f"Successfully deleted {command.path}"

    def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        old, new = _parts(command.old_path), _parts(command.new_path)
        if not old:
            raise ToolError("Cannot rename the /memories directory itself")
        if not new or self._text(new) is not None or any(self._below(new)):
            raise ToolError(f"The destination {command.new_path} already exists")
        moved = [old] if self._text(old) is not None else [file.path for file in self._below(old)]
        if not moved:
            raise ToolError(f"The path {command.old_path} does not exist")
        if new[: len(old)] == old:
            raise ToolError(f"The path {command.new_path} is inside {command.old_path}")
        self._check_folders(new, command.new_path)
        try:
            self._items.move([(self._place(one), self._place((*new, *one[len(old) :]))) for one in moved])
        except Invalid as error:
            _refuse(error)
        return f"Successfully renamed {command.old_path} to {command.new_path}"

    def clear_all_memory(self) -> str:
        """Take all files away, into the trash."""
        for file in [*self._below(())]:
            self._items.delete(*self._place(file.path))
        return "All memory cleared"

    def _place(self, path: tuple[str, ...]) -> tuple[tuple[str, ...], str]:
        return (*self._namespace, *path[:-1]), path[-1]

    def _text(self, path: tuple[str, ...]) -> str | None:
        """What a file says; None if there is none."""
        try:
            item = self._items.get(*self._place(path)) if path else None
        except Invalid as error:
            _refuse(error)
        return item.value if item is not None and isinstance(item.value, str) else None

    def _file(self, name: str) -> tuple[tuple[str, ...], str]:
        path = _parts(name)
        if (text := self._text(path)) is not None:
            return path, text
        if not path or any(self._below(path)):
            raise ToolError(f"The path {name} is not a file.")
        raise ToolError(f"The path {name} does not exist. Please provide a valid path.")

    def _below(self, path: tuple[str, ...]) -> Iterator[File]:
        """The files of a folder, and of those in it."""
        depth = len(self._namespace)
        try:
            items = self._items.search((*self._namespace, *path), limit=FILES)
        except Invalid as error:
            _refuse(error)
        for item in items:
            if isinstance(item.value, str):
                yield File((*item.namespace[depth:], item.key), item.value)

    def _check_folders(self, path: tuple[str, ...], name: str) -> None:
        for depth in range(1, len(path)):
            if self._text(path[:depth]) is not None:
                raise ToolError(f"The path {ROOT}/{'/'.join(path[:depth])} is a file: {name} cannot be in it")

    def _write(self, path: tuple[str, ...], text: str) -> str:
        """Save the text of a file; returns a sentence if its secrets were replaced, else an empty text."""
        try:
            item = self._items.put(*self._place(path), text)
        except Invalid as error:
            _refuse(error)
        return "" if item.value == text else REDACTED


class AsyncMemoryTool(BetaAsyncAbstractMemoryTool):
    """The same for `AsyncAnthropic`: what it is asked runs in one thread, one after the other."""

    def __init__(self, items: KeyedStore, *, namespace: Sequence[str] = NAMESPACE) -> None:
        """See `MemoryTool`."""
        super().__init__()
        self._tool, self._waiting = MemoryTool(items, namespace=namespace), AsyncEngine(lambda: items.engine)

    async def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        return await self._waiting.run(lambda _engine: self._tool.view(command))

    async def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        return await self._waiting.run(lambda _engine: self._tool.create(command))

    async def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        return await self._waiting.run(lambda _engine: self._tool.str_replace(command))

    async def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        return await self._waiting.run(lambda _engine: self._tool.insert(command))

    async def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        return await self._waiting.run(lambda _engine: self._tool.delete(command))

    async def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        return await self._waiting.run(lambda _engine: self._tool.rename(command))

    async def clear_all_memory(self) -> str:
        return await self._waiting.run(lambda _engine: self._tool.clear_all_memory())


def _parts(name: str) -> tuple[str, ...]:
    """
    The folders and the name of a path below the root; none of the root itself.

    Raises:
        ToolError: It is not below the root.
    """
    if name != ROOT and not name.startswith(f"{ROOT}/"):
        raise ToolError(f"Path must start with /memories, got: {name}")
    parts: list[str] = []
    for part in name.removeprefix(ROOT).split("/"):
        if part == "..":
            if not parts:
                raise ToolError(f"Path {name} would escape /memories directory")
            parts.pop()
        elif part not in {"", "."}:
            parts.append(part)
    return tuple(parts)


def _numbered(lines: Sequence[str], first: int) -> list[str]:
    return [f"{number:>{WIDTH}}\t{line}" for number, line in enumerate(lines, first)]


def _size(size: int) -> str:
    """As `du -h` writes it."""
    unit = min(3, max(0, size.bit_length() - 1) // 10)
    count = size / 1024**unit
    return f"{int(count)}{'BKMG'[unit]}" if count == int(count) else f"{count:.1f}{'BKMG'[unit]}"


def _refuse(error: Invalid) -> NoReturn:
    raise ToolError(f"{error}. {error.hint}".rstrip()) from error
