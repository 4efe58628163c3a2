"""The documented errors of the session tools: by name in an envelope, or raised as exceptions."""

from __future__ import annotations

from typing import Literal, TypeAlias

from memory.schema.errors import ConfigError, EmbedError, Error, SpaceMismatch, StoreBusy, StoreError

Doing: TypeAlias = Literal["store", "search", "use"]
"""What a tool is for."""


class SessionError(Exception):
    """
    Base of the documented errors.

    Attributes:
        name: How an envelope names it.
        code: The HTTP status that means about the same.
    """

    name = "MemoryError"
    code = 500


class ValidationError(SessionError):
    """An argument is not valid, or names nothing. Nothing was changed."""

    name, code = "ValidationError", 400


class MemoryStoreError(SessionError):
    """It could not be saved."""


MemoryError = MemoryStoreError  # the documented name, which is a builtin's too


class SearchError(SessionError):
    """It could not be searched."""

    name = "SearchError"


class ChunkingError(SessionError):
    """A text could not be split. This never happens; the name is here for programs that know it."""

    name = "ChunkingError"


class DatabaseError(SessionError):
    """The database could not do what was asked."""

    name = "DatabaseError"


class DatabaseLockError(DatabaseError):
    """Another process was writing for longer than the configured time; the same call may succeed later."""

    name, code = "DatabaseLockError", 503


def documented(error: Error, doing: Doing) -> SessionError:
    """One of our errors as a documented error, with its hint."""
    said = f"{error}. {error.hint}" if error.hint else str(error)
    match error:
        case StoreBusy():
            return DatabaseLockError(said)
        case StoreError():
            return DatabaseError(said)
        case EmbedError() | SpaceMismatch() | ConfigError():
            return SearchError(said) if doing == "search" else MemoryStoreError(said)
    return ValidationError(said)
