"""Errors of psycopg as ours, and a server by a name that holds no password."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias

import psycopg
from psycopg import errors
from psycopg_pool import PoolTimeout

from memory.schema.databases import without_password
from memory.schema.errors import (
    NO_ROOM,
    ConfigError,
    Error,
    Invalid,
    StoreBusy,
    StoreDamaged,
    StoreError,
    StoreFull,
    StoreReadOnly,
)
from memory.store.generations import gone

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

RAISED = (psycopg.Error, UnicodeEncodeError)
"""What is raised while a server is asked, and `ours` has a word for. `PoolTimeout` is a psycopg.Error."""

Raised: TypeAlias = "psycopg.Error | UnicodeEncodeError"


def place(url: str) -> str:
    """
    A server's URL as it may be shown.

    Raises:
        ConfigError: It is none. What it is, is not repeated: it may hold a password.
    """
    try:
        return without_password(url)
    except ValueError as error:
        raise ConfigError(f"store.url: {error}") from None


@contextmanager
def translated(name: str) -> Generator[None]:
    """Errors of psycopg as ours, the original as the cause."""
    try:
        yield
    except RAISED as error:
        raise ours(error, name) from error


def ours(error: Raised, name: str) -> Error:
    """
    One of `RAISED` as one of ours.

    Args:
        name: The server's, as `place` gives it.
    """
    if isinstance(error, UnicodeEncodeError):  # a name that nothing can have
        return Invalid(f"{error.object[error.start : error.end]!r} is not valid Unicode")
    said = str(error).strip().split("\n", 1)[0]
    if isinstance(error, errors.UndefinedTable) and (dropped := _DROPPED.search(said)):
        return gone(int(dropped[1]))  # the snapshot has its row, but names of tables are those of this moment
    full = any(sign in said for sign in _NO_ROOM)
    for kinds, made, what, hint in _KNOWN:
        if isinstance(error, kinds) or (full and made is StoreFull):
            return made(what.format(name=name, said=said), hint=hint)
    if isinstance(error, psycopg.OperationalError):
        return _unreachable(error, name, said)
    return StoreError(f"{name}: {said}")


_DROPPED = re.compile(r"\bvectors_(\d+)")

_KNOWN: Sequence[tuple[tuple[type[psycopg.Error], ...], type[Error], str, str]] = (
    (
        (errors.LockNotAvailable, errors.DeadlockDetected, errors.SerializationFailure),
        StoreBusy,
        "another process is writing to {name}",
        "Try again.",
    ),
    (
        (PoolTimeout, errors.TooManyConnections),
        StoreBusy,
        "no connection to {name} is free",
        "Try again, or raise max_connections.",
    ),
    (
        (errors.QueryCanceled,),
        StoreBusy,
        "{name} lets no statement take that long",
        "Try again, or raise its statement_timeout.",
    ),
    (
        (errors.IdleInTransactionSessionTimeout, errors.TransactionTimeout),
        StoreBusy,
        "{name} lets no transaction take that long: {said}",
        "Set its idle_in_transaction_session_timeout and transaction_timeout higher for this role.",
    ),
    (
        (errors.ReadOnlySqlTransaction,),
        StoreReadOnly,
        "{name} may only be read",
        "Name the primary in store.url, with target_session_attrs=read-write, or unset default_transaction_read_only.",
    ),
    (
        (errors.InsufficientPrivilege,),
        StoreReadOnly,
        "{name} refuses this for lack of rights: {said}",
        "The role that first opens it needs the right to create in that database, and owns the tables: let all use that role.",
    ),
    (
        (errors.DiskFull, errors.OutOfMemory),
        StoreFull,
        "no room left on the server of {name}",
        NO_ROOM,
    ),
    (
        (errors.DataCorrupted, errors.IndexCorrupted),
        StoreDamaged,
        "{name} is damaged: {said}",
        "Restore it from a backup.",
    ),
    ((psycopg.DataError,), Invalid, "{name} does not take this: {said}", ""),
)
"""Errors, what they are to us, what is said of them, and what to do."""

# PostgreSQL has a code for a full disk, and none for a quota and a limit of a file; nor has a connection that was not made.
_NO_ROOM = ("No space left on device", "File too large", "quota exceeded")

_ACCOUNT = (
    "it only lets in users who have an account of that name on its machine",
    "Name your own account in store.url, or a host, as in postgresql://NAME@localhost/DATABASE, and use a password.",
)

# Of a connection that was not made, PostgreSQL says what is wrong in words alone.
_REFUSALS = (
    ("password authentication failed", "it refuses the password", "Check user and password in store.url."),
    ("no password supplied", "it asks for a password", "Put it into store.url, PGPASSWORD or ~/.pgpass."),
    ('entry for host "[local]"', "it refuses that user from this address", "Add a line to its pg_hba.conf."),
    ("no encryption", "it asks for TLS", "Add sslmode=require to store.url."),
    ("SSL off", "it asks for TLS", "Add sslmode=require to store.url."),
    ("SSL required", "it asks for TLS", "Add sslmode=require to store.url."),
    ("sslmode=require", "it asks for TLS", "Add sslmode=require to store.url."),
    ("does not support SSL", "it has no TLS", "Take sslmode out of store.url, or turn TLS on at the server."),
    ("certificate verify failed", "its certificate is not trusted", "Name its authority: sslrootcert in store.url."),
    (
        "does not match host name",
        "its certificate is for another name",
        "Put that name into store.url, or give the server a certificate for this one.",
    ),
    (
        "root certificate file",
        "there is no certificate of an authority to compare its own with",
        "Name a file that has one: sslrootcert in store.url.",
    ),
    (
        "requires a valid client certificate",
        "it asks for a certificate of this role",
        "Name that and its key: sslcert and sslkey in store.url.",
    ),
    ("no pg_hba.conf entry", "it refuses that user from this address", "Add a line to its pg_hba.conf."),
    ("pg_hba.conf rejects", "it refuses that user from this address", "Change the line in its pg_hba.conf."),
    ("Peer authentication failed", *_ACCOUNT),
    ("Ident authentication failed", *_ACCOUNT),
    ("permission denied for database", "this role may not use that database", "Let its owner `grant connect` to it."),
    ("not permitted to log in", "this role may not log in", "Let a superuser `alter role` it `login`."),
    ("does not exist", "there is no such database or role", "Make it: createdb, createuser."),
    ("not read-write", "none of its hosts can be written", "Wait until one of them is the primary."),
    ("read-only", "none of its hosts can be written", "Wait until one of them is the primary."),
)


_ANSWERED = re.compile(r": *(?:\w+|\w+ \(\w+\)):  (?P<said>\S.*)")
"""What a server says, in its own language, begins with how grave that is, and two spaces (libpq's `pqBuildErrorMessage3`)."""

_FULL = ("too many connections", "too many clients", "connection slots are reserved")


def _unreachable(error: psycopg.Error, name: str, said: str) -> StoreError:
    """Why a server cannot be talked to, as far as it says so."""
    if any(sign in str(error) for sign in _FULL):
        return StoreBusy(f"no connection to {name} is free", hint="Try again, or raise max_connections.")
    for sign, what, hint in _REFUSALS:
        if sign in str(error):
            return StoreError(f"{name} cannot be opened: {what}", hint=hint)
    if answer := _ANSWERED.search(said):
        hint = "That is what the server says. Check user, password and database in store.url, and its pg_hba.conf."
        return StoreError(f"{name} cannot be opened: {answer['said']}", hint=hint)
    return StoreError(f"{name} cannot be reached: {said}", hint="Is the server running, and the URL right?")
