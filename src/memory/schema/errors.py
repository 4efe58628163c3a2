"""
The errors that a caller can catch, and checks of texts and numbers with their limits.

    Error (.hint, .retryable)
    ├── Invalid                      a draft, query or argument is not valid
    ├── NotFound, Ambiguous          a reference matches no memory, or several
    ├── ConfigError                  a settings file, a setting's name or its value
    ├── StoreError
    │   ├── StoreBusy                another process held the write lock too long (retryable)
    │   ├── StoreTooNew              written by a newer version of this program
    │   ├── StoreTooOld              written by an older one: `memory migrate` converts it
    │   ├── StoreDamaged             not a database, or damaged
    │   ├── StoreReadOnly            the file, its folder or its disk is read-only
    │   └── StoreFull                the disk, or a limit on the file, is full
    ├── EmbedError
    │   ├── Unreachable              no answer in time (retryable)
    │   ├── Refused                  the provider or its model cannot be used as configured
    │   │   ├── Unfit                the provider refuses this text; it may accept others
    │   │   │   └── TooLong          the text is longer than the model reads
    │   │   └── Raised               a plug-in or model library raised an exception
    │   ├── Garbled                  wrong number or width of vectors, or not numbers
    │   ├── OverBudget               the daily budget is spent
    │   └── Unembedded               no memory has a vector yet
    └── SpaceMismatch                the stored vectors are of another model
        └── DimensionMismatch        ... of another width
"""

from __future__ import annotations

from contextlib import contextmanager
from datetime import UTC, datetime, time, timedelta, tzinfo
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Generator, Mapping, Sequence


class Error(Exception):
    """
    Base class of the errors that this package raises.

        >>> try:
        ...     engine.get("1a2b3c4d")
        ... except Error as error:
        ...     print(error, error.hint)

    Attributes:
        hint: What to do about it, as a sentence; may be empty.
        retryable: Whether the same call may succeed later.
    """

    retryable = False

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class Invalid(Error):
    """A draft, query or argument is not valid. Nothing was changed."""


class NotFound(Error):
    """No memory has this id, uid or name."""


class Ambiguous(Error):
    """A reference matches several memories; `candidates` is the tuple of their uids."""

    def __init__(self, reference: str, candidates: Sequence[str]) -> None:
        super().__init__(
            f"{reference!r} could be any of {', '.join(candidates)}", hint="Give more characters of the id."
        )
        self.candidates = tuple(candidates)


class ConfigError(Error):
    """A settings file, a setting's name or its value cannot be used."""


class StoreError(Error):
    """Base class of errors of the database: it cannot be opened, read or written."""


class StoreBusy(StoreError):
    """Another process held the write lock for longer than `store.busy_seconds`. Retryable."""

    retryable = True


class StoreTooNew(StoreError):
    """The file was written by a newer version of this program. It was not changed."""


class StoreTooOld(StoreError):
    """The file has the format of an older version. It was not changed; `memory migrate` converts it."""


class StoreDamaged(StoreError):
    """The file is not a database, or is damaged. It was not changed."""


class StoreReadOnly(StoreError):
    """The file, its folder or its disk is read-only. Nothing was saved; searches still work."""


class StoreFull(StoreError):
    """The disk, or a size limit of the file, is full. Nothing of this write was saved; earlier writes are safe."""


NO_ROOM = "Nothing of this write was saved; what was saved before stays. Free some space, then try again."
"""The hint of a `StoreFull`. A caller that made several writes adds what happened to the others."""

FREE = "Free some space first."


@contextmanager
def placed(place: str) -> Generator[None]:
    """Prefix errors raised inside with the place that is read."""
    try:
        yield
    except Invalid as error:
        raise Invalid(f"{place}: {error}", hint=error.hint) from error


@contextmanager
def kept_before(told: Callable[[], str]) -> Generator[None]:
    """
    Add to the hint of errors raised inside how much of an operation of several writes was saved.

    Args:
        told: Returns what was done before the error and how to continue; empty if nothing was done.
    """
    try:
        yield
    except StoreError as error:
        if not (hint := told()):
            raise
        cure = FREE if isinstance(error, StoreFull) else error.hint
        raise type(error)(str(error), hint=" ".join(filter(None, [cure, hint]))) from error


class EmbedError(Error):
    """
    Base class of errors of the embedding model: it returned no usable vector.

    Attributes:
        sent: Whether texts may have left this process.
        limited: Whether the provider is refusing all requests for now, e.g. at a rate limit.
    """

    sent, limited = True, False


class Unreachable(EmbedError):
    """
    The provider did not answer within the configured time and retries. Retryable.

    Attributes:
        after: Seconds to wait before the next request, as the provider asked; None if it did not say.
        late: Whether the request timed out.
    """

    retryable = True

    def __init__(
        self,
        message: str,
        *,
        hint: str = "",
        after: float | None = None,
        late: bool = False,
        limited: bool = False,
    ) -> None:
        super().__init__(message, hint=hint)
        self.after, self.late, self.limited = after, late, limited


class Refused(EmbedError):
    """The provider or its model cannot be used as configured: not installed, no key, no such model."""


class Unfit(Refused):
    """The provider refuses this text; it may accept others."""


class TooLong(Unfit):
    """The text is longer than the model reads."""


class Raised(Refused):
    """A plug-in or model library raised an exception, for this text or for any."""


class Garbled(EmbedError):
    """The provider returned the wrong number of vectors, the wrong width, or values that are not finite numbers."""


class OverBudget(EmbedError):
    """The daily embedding budget is spent."""


class Unembedded(EmbedError):
    """No memory in the store has a vector yet."""


class SpaceMismatch(Error):
    """
    The given vectors cannot be compared with the stored ones: they come from another model.

    Attributes:
        stored: Model and width of the stored vectors, as text.
        given: Model and width of the given vectors, as text.
    """

    def __init__(self, stored: object, given: object, *, width: int = 0) -> None:
        """
        Args:
            width: The width of the caller's vector; 0 if the vectors come from the configured model.
        """
        other = f"the given vector has the width {width}" if width else f"the configured model gives {given}"
        hint = "Run `memory reindex` to embed what is stored with the configured model, or set the former one."
        if width:
            hint = "Give a vector of the model that the stored ones are of."
        super().__init__(f"the stored vectors are in {stored}, {other}", hint=hint)
        self.stored, self.given = str(stored), str(given)


class DimensionMismatch(SpaceMismatch):
    """The given vectors have another width than the stored ones."""


@contextmanager
def explained(kind: type[Error], what: str, hint: str = "") -> Generator[None]:
    """
    Turn an operating system error raised inside into one of ours.

    Args:
        what: What cannot be done; the reason is added.
    """
    try:
        yield
    except OSError as error:
        raise kind(f"{what}: {error.strerror or error}", hint=hint) from error


def did_you_mean(name: str, known: Collection[str], otherwise: str | None = None) -> str:
    """
    The hint for an unknown name: the nearest known one.

    Args:
        otherwise: The hint if none is near; None lists all.
    """
    from difflib import get_close_matches

    if found := get_close_matches(name, known, n=1):
        return f"Did you mean {found[0]!r}?"
    return f"There are: {', '.join(known)}." if otherwise is None else otherwise


# Limits, and texts of values -------------------------------------------------

TITLE_LIMIT = 200  # characters
LINE_LIMIT = 10_000  # characters of what, why, impact, description
BODY_LIMIT = 500_000  # characters
NAME_LIMIT = 200  # characters of a project, a source, a tag, a file, ...
TAGS_LIMIT = 100
WHAT_OF_BODY = 200  # first characters of a body that serve as `what` for kinds without one
CLIP = 80  # characters of a wrong value that an error repeats
DEPTH_LIMIT = 64  # levels of nested metadata
DISTANCE_LIMIT = 10  # relations: beyond it, proximity is below a thousandth
ITERATIONS = 2**31 - 1  # highest iteration of a session
AROUND = 100  # most neighbours on either side of an expanded chunk


def check_text(name: str, text: object, limit: int) -> None:
    """
    Check that a value is text within a limit.

    Raises:
        Invalid: It is not text, is longer than the limit, or contains a NUL or a lone surrogate.
    """
    if not isinstance(text, str):
        raise Invalid(f"{name} must be text, not {type(text).__name__}")
    if len(text) > limit:
        raise Invalid(f"{name} has {len(text):,} characters; the limit is {limit:,}")
    if "\0" in text:
        raise Invalid(f"{name} has a NUL at position {text.index(chr(0))}: this looks like binary data, not text")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise Invalid(f"{name} has a lone surrogate at position {error.start}: it is not valid Unicode") from error


def check_texts(owner: object, limits: Mapping[str, int]) -> None:
    """Call `check_text` for each of these attributes that is set."""
    for name, limit in limits.items():
        if (text := getattr(owner, name)) not in (None, ""):
            check_text(name, text, limit)


def checked_name(field: str, name: object, hint: str = "") -> str:
    """
    A required name, without white space around it.

    Args:
        hint: What to do if it is blank.

    Raises:
        Invalid: It is not text, is longer than `NAME_LIMIT`, or blank.
    """
    check_text(field, name, NAME_LIMIT)
    if not (found := str(name).strip()):
        raise Invalid(f"{field} is blank", hint=hint)
    return found


EVERYWHERE = "*"
"""Written in place of a project's name: all projects."""


def one_project(name: str | None) -> str | None:
    """
    The name of the one project that a memory belongs to.

    Raises:
        Invalid: The name stands for all projects.
    """
    if name is not None and name.strip() == EVERYWHERE:
        raise Invalid("a memory belongs to one project, not to all", hint="Name it, or none: ''.")
    return name


def check_distance(value: object) -> int:
    """
    Check a distance in the graph.

    Raises:
        Invalid: It is not a whole number of relations from 0 to `DISTANCE_LIMIT`.
    """
    return checked_whole(value, 0, DISTANCE_LIMIT, f"a distance is 0..{DISTANCE_LIMIT} relations, a whole number")


def checked_whole(value: object, low: int, high: int, meaning: str) -> int:
    """
    A whole number within bounds. True and False are refused, although Python takes them for 1 and 0.

    Args:
        meaning: What the value should be, as a sentence for the error.

    Raises:
        Invalid: It is something else.
    """
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise Invalid(f"{meaning}, not {clipped_repr(value)}")
    return value


def clipped_repr(value: object) -> str:
    """The repr of a value, short enough for an error message."""
    text = repr(value)
    return text if len(text) <= CLIP else f"{text[:CLIP]}…"


def iteration(value: int | str | None) -> int | None:
    """
    The number of a session's iteration, written 1, "1" or "v1".

    Raises:
        Invalid: It is not a number from 1 on.
    """
    if value is None:
        return None
    text = str(value).strip().lower().removeprefix("v")
    if isinstance(value, bool) or not (
        text.isascii() and text.isdigit() and len(text) < 11 and 1 <= int(text) <= ITERATIONS
    ):
        raise Invalid(f"session_iter is a number from 1 on, such as 1 or v1, not {clipped_repr(value)}")
    return int(text)


def printable(name: str) -> str:
    """A name from the file system as one line of valid Unicode."""
    return " ".join(name.encode("utf-8", "replace").decode().split())


def iso(moment: datetime) -> str:
    """ISO 8601 in UTC with microseconds and a Z. All such texts have the same length, so they sort by time."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")  # %Y does not pad


def midnight(moment: datetime, days: int = 1, zone: tzinfo | None = UTC) -> datetime:
    """
    Midnight at the start of the period of `days` days that ends with the day of `moment`; 1..36,500 days.

    Args:
        zone: The time zone of the midnight; None is local time.
    """
    first = moment.astimezone(zone).date() - timedelta(days=min(max(1, days), 36_500) - 1)
    return in_utc(datetime.combine(first, time(), zone))


def in_utc(moment: datetime) -> datetime:
    """
    A moment in UTC; one without a zone is local time. A local time that a change to summer time skips is the moment of
    that change.

    Raises:
        OverflowError, ValueError: The moment is outside the range of datetime.
    """
    return datetime.fromtimestamp(moment.timestamp(), UTC)  # `astimezone` returns an hour less for skipped times
