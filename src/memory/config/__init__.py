"""
Settings: defaults, then the file, then the environment, then the caller.

A `Config` is plain, checked data. It opens nothing and builds nothing; `Engine.open` does.
Every setting remembers where it came from.
"""

from __future__ import annotations

import os
import re
import sys
from dataclasses import Field, field, fields, replace
from functools import cache
from operator import attrgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

from memory.config.files import SETTINGS_BYTES, contents, utf8
from memory.config.project import aliases, check_user, login
from memory.config.settings import (
    FOREIGN,
    FORMER,
    ChunkingSettings,
    ContextSettings,
    EmbeddingSettings,
    GraphSettings,
    McpSettings,
    ResearchSettings,
    SearchSettings,
    SessionsSettings,
    StoreSettings,
    TrashSettings,
    setting,
)
from memory.schema.errors import ConfigError, did_you_mean, printable
from memory.schema.record import record

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from memory.schema.answer import Notice

DATABASE = "memory.db"
FILE = "config.yaml"
FLAG = "flag"
"""The origin of a setting that the caller gave."""


@record(frozen=True)
class Config:
    """
    All settings, as immutable values; docs/configuration.md lists them with their defaults.

        >>> engine = Engine.open(Config(home="~/team-memory", user="ann"))

    `Engine.open()` without a configuration reads the settings file and the environment.

    Attributes:
        home, project_aliases, documents, user: The settings without a section.
        store, trash, embedding, chunking, search, context, sessions, research, graph, mcp: The sections.
        origins: The file, variable or flag that set each setting that is not a default, by key ("search.limit").
        run: The default research run of commands and tools; "" if there is none.
        former: A notice for each setting of an earlier version that a file or a variable still names.
    """

    home: str = setting("", "Folder of the database; empty takes the platform's data folder.")
    project_aliases: str = setting(
        "", 'Other names of a project, e.g. after its folder was renamed: "old = new, website = shop".', check=aliases
    )
    documents: str = setting(
        "",
        "Folder that documents may be written into; empty is the folder a program works in, or one beside the database "
        "if that is your home folder or above it.",
    )
    user: str = setting(
        "",
        "Your name in a database that several people share; empty takes your login name. It filters, it "
        "does not protect: PostgreSQL's roles decide who may read or write.",
        check=check_user,
    )
    store: StoreSettings = field(default_factory=StoreSettings)
    trash: TrashSettings = field(default_factory=TrashSettings)
    embedding: EmbeddingSettings = field(default_factory=EmbeddingSettings)
    chunking: ChunkingSettings = field(default_factory=ChunkingSettings)
    search: SearchSettings = field(default_factory=SearchSettings)
    context: ContextSettings = field(default_factory=ContextSettings)
    sessions: SessionsSettings = field(default_factory=SessionsSettings)
    research: ResearchSettings = field(default_factory=ResearchSettings)
    graph: GraphSettings = field(default_factory=GraphSettings)
    mcp: McpSettings = field(default_factory=McpSettings)
    origins: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}), compare=False)
    run: str = ""
    former: tuple[Notice, ...] = field(default=(), compare=False)

    @property
    def folder(self) -> str:
        """The folder of the database, as an absolute path. A str: importing pathlib would cost every start 3 ms."""
        return _utf8(os.path.abspath(home) if (home := expanded(self.home)) else platform_folder())

    @property
    def database(self) -> str:
        """The path of the database file, also if a server is used instead."""
        return os.path.join(self.folder, DATABASE)

    @property
    def place(self) -> str:
        """The location of the memories, safe to display: the file, or the server's URL without its password."""
        return str(value(self, "store.url")) or self.database

    @property
    def author(self) -> str:
        """The author of changes: the setting `user`, else the login name; "" if the system has none."""
        return self.user.strip() or login()

    def mode(self, toolset: Literal["sessions", "research"]) -> str:
        """The search mode of a tool set: its own setting, or that of `search` if its own is "tiered"."""
        own: str = getattr(self, toolset).mode
        return self.search.mode if own == "tiered" else own

    @property
    def begun(self) -> bool:
        """Whether there may be memories: the file exists or cannot be checked, or a server is configured."""
        if self.store.url:
            return True
        try:
            os.stat(self.database)
        except FileNotFoundError:
            return False
        except OSError:  # opening it says what is wrong
            pass
        return True


SECTIONS = tuple(section.name for section in fields(Config) if isinstance(section.default_factory, type))

ALIASES = {
    "embedding.provider": ("MEMGRAPH_EMBEDDING_PROVIDER",),
    "embedding.model": ("MEMGRAPH_EMBEDDING_MODEL", "EMBEDDING_MODEL"),
    "embedding.backfill_threshold": ("AUTO_BACKFILL_THRESHOLD",),
    "chunking.size": ("DEFAULT_CHUNK_SIZE",),
    "chunking.overlap": ("DEFAULT_CHUNK_OVERLAP",),
    "search.candidates": ("VECTOR_SEARCH_BATCH_SIZE",),
    "search.deepen": ("USE_ITERATIVE_FETCHING",),
    "search.threshold_filtering": ("USE_THRESHOLD_FILTERING",),
    "search.slow_seconds": ("LOG_SLOW_QUERY_THRESHOLD",),
    "mcp.warm_start": ("WARM_START_EMBEDDING_MODEL",),
}
"""Environment variables that other programs use for some settings; our own names win."""

WIDTH = "EMBEDDING_DIM"
"""The environment variable for the width that vectors must have. It is no setting: it asks no model for that width."""


def platform_folder() -> str:
    """
    Where programs of this platform keep a user's data.

    The same as platformdirs, which would cost every start 5 ms.
    """
    if sys.platform == "win32":
        return os.path.join(os.environ.get("LOCALAPPDATA") or os.path.expanduser("~\\AppData\\Local"), "memory")
    if sys.platform == "darwin":
        return os.path.expanduser("~/Library/Application Support/memory")
    data = os.environ.get("XDG_DATA_HOME", "")  # its specification says to ignore a relative one
    return os.path.join(data if os.path.isabs(data) else os.path.expanduser("~/.local/share"), "memory")


def load(
    file: str | Path | None = None, *, env: Mapping[str, str] | None = None, flags: Mapping[str, object] | None = None
) -> Config:
    """
    The settings in force.

    Args:
        file: The file to read; None reads `$MEMORY_CONFIG`, else config.yaml in `$MEMORY_HOME` or the platform's data
            folder, if it exists.
        env: None reads the process's environment. `$MEMORY_HOME` and `$MEMORY_<SECTION>_<NAME>` set what they name,
            `$MEMORY_RUN` the research run.
        flags: Settings from the command line by key; None values are ignored.

    Raises:
        ConfigError: The file is missing or not YAML, or a key or a value is unknown. The message says where.
    """
    env = os.environ if env is None else env
    path = located(file, env=env, flags=flags)
    config, former = Config(run=env.get("MEMORY_RUN", "").strip()), {}
    for key, value in _read(path, needed=bool(file or env.get("MEMORY_CONFIG", "").strip())):
        if key in FORMER:
            former[key] = value, path
        else:
            config = with_setting(config, key, value, path)
    homed = (flags or {}).get("home") is not None  # names a file's folder, whatever server the environment names
    for key in keys():
        if homed and key == "store.url":
            continue
        named = next((name for name in (variable(key), *ALIASES.get(key, ())) if env.get(name)), None)
        if named is not None:
            config = with_setting(config, key, env[named], f"${named}")
    for key in FORMER:
        if text := env.get(variable(key)):
            former[key] = text, f"${variable(key)}"
    for key, value in (flags or {}).items():
        if value is not None:
            config = with_setting(config, key, value, FLAG)
    for key in filter(former.__contains__, FORMER):
        config = _with_former(config, key, *former[key])
    if text := env.get(WIDTH):
        config = expecting(config, text, f"${WIDTH}")
    return config


def located(file: str | Path | None, *, env: Mapping[str, str], flags: Mapping[str, object] | None = None) -> str:
    """The path from which `load` reads settings, whether a file exists there or not."""
    if named := expanded(str(file or env.get("MEMORY_CONFIG") or "")):
        return named
    home = expanded(str((flags or {}).get("home") or "")) or expanded(env.get("MEMORY_HOME", ""))
    return os.path.join(home or platform_folder(), FILE)


def expanded(text: str) -> str:
    """
    A path as a person writes it: without blanks around it, with `~` and `$NAME` expanded. What there is by that very name
    is meant as it is.

    Raises:
        ConfigError: There is no such user or variable.
    """
    if os.path.isabs(text) and os.path.lexists(text):
        return text
    found = os.path.expanduser(os.path.expandvars(text.strip()))
    if found.startswith("~"):
        raise ConfigError(f"{text}: there is no such user")
    if missing := re.search(r"\$(\w+|\{[^}]*\})", found):
        raise ConfigError(f"{text}: the variable {missing[0]} is not set", hint="Write the path itself.")
    return found


def _check_place(key: str, value: object, origin: str) -> None:
    """
    Raises:
        ValueError: It is a path of another place in every folder.
    """
    if key != "home" or origin == FLAG or not (found := expanded(str(value))) or os.path.isabs(found):
        return
    raise ValueError(f"{value!r} depends on the current folder; begin it with / or ~")


def _utf8(path: str) -> str:
    try:
        path.encode()
    except UnicodeEncodeError as error:
        raise ConfigError(
            f"the folder {printable(path)} has a name that is not UTF-8", hint="Set MEMORY_HOME."
        ) from error
    return path


def _read(file: str, *, needed: bool) -> Iterator[tuple[str, object]]:
    try:
        text = utf8(contents(file, SETTINGS_BYTES), file, ConfigError)
    except OSError as error:
        if isinstance(error, (FileNotFoundError, NotADirectoryError)) and not needed:
            return
        raise ConfigError(f"{file}: {error.strerror}", hint="`memory init` writes one.") from error
    yield from tree(text, file)


def tree(text: str, file: str) -> Iterator[tuple[str, object]]:
    """
    The keys and values in the text of a settings file, unchecked.

    Raises:
        ConfigError: It is not YAML, or not settings.
    """
    if all(not line.strip() or line.lstrip().startswith("#") for line in text.splitlines()):
        return  # only comments: saves the 15 ms of importing yaml
    import yaml

    try:
        found: object = yaml.safe_load(text) or {}
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # e.g. an impossible date, a thousand brackets
        raise ConfigError(f"{file} is not YAML: {error}") from error
    for name, value in _mapping(found, f"{file}: expected settings such as `search:`, not {type(found).__name__}"):
        if name not in SECTIONS:
            yield str(name), value
            continue
        for inner, said in _mapping(value or {}, f"{file}: {name} should hold settings, not {value!r}"):
            yield f"{name}.{inner}", said


def _mapping(tree: object, otherwise: str) -> Iterable[tuple[object, object]]:
    if not isinstance(tree, dict):
        raise ConfigError(otherwise)
    return cast("dict[object, object]", tree).items()


def with_setting(config: Config, key: str, value: object, origin: str) -> Config:
    """
    A copy of the settings with one changed.

    Args:
        origin: Where it comes from, which an error begins with; empty where that is plain.

    Raises:
        ConfigError: There is no such setting, or it does not take the value.
    """
    place = f"{origin}: " if origin else ""
    if key in FORMER:
        raise ConfigError(f"{place}no setting {key!r}", hint=FORMER[key].now)
    if key not in (known := keys()):
        end = f".{key.rpartition('.')[2]}"
        named = [k for k in known if k.endswith(end)]
        if key in SECTIONS:
            hint = f"It has settings: {', '.join(k for k in known if k.startswith(f'{key}.'))}."
            raise ConfigError(f"{place}{key} is a section, not a setting", hint=hint)
        others = known if "." in key else [*SECTIONS, *known]
        hint = f"Did you mean {named[0]!r}?" if named else did_you_mean(key, others, "")
        if FOREIGN & {*key.split(".")}:
            hint += " If another program wrote it, move it away: `memory config import FILE` takes it over."
        raise ConfigError(f"{place}no setting {key!r}", hint=hint.strip())
    try:
        checked = _checked(_definitions()[key], value)
        _check_secret(key, checked, origin)
        _check_place(key, checked, origin)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"{place}{key}: {error}") from error
    section, _, name = key.rpartition(".")
    one: dict[str, Any] = {name: checked}
    changes = {section: replace(getattr(config, section), **one)} if section else one
    return replace(config, **changes, origins=MappingProxyType({**config.origins, key: origin}))


def _with_former(config: Config, key: str, value: object, origin: str) -> Config:
    """The settings where a file or a variable names one of an earlier version: it is carried over where that is possible."""
    usual, now = FORMER[key]
    if str(value).lower() in {str(usual).lower(), f"{usual:g}" if isinstance(usual, float) else str(usual)}:
        return config
    from memory.schema.answer import Notice

    try:
        carried = _carried(config, key, value, origin)
    except ConfigError:
        carried = config
    text = f"{origin}: no setting {key!r}{', but it still holds' if carried is not config else ''}"
    return replace(carried, former=(*config.former, Notice(text, hint=now)))


def _carried(config: Config, key: str, value: object, origin: str) -> Config:
    """
    The settings with what one of an earlier version says; as they were if it has no place in them.

    Raises:
        ConfigError: It does not take the value.
    """
    embedding = config.embedding
    first, second = embedding.servers
    match key, embedding.provider:
        # Whatever else is set: texts must not go to a provider's usual address if a server was named for it.
        case ("embedding.ollama_host", "ollama") | ("embedding.openai_base_url", "openai") if not first:
            return with_setting(config, "embedding.base_url", f"{value}, {second}" if second else str(value), origin)
        case "embedding.fallback", "ollama" | "openai" if not second:
            return with_setting(config, "embedding.base_url", f"{first}, {value}", origin)
        case "embedding.expected_dimension", _:
            return expecting(config, value, origin)
        case "embedding.query_seconds", _:
            try:
                seconds = _number(float, value, 0.1, 3600)
            except ValueError as error:
                raise ConfigError(f"{origin}: {key}: {error}") from error
            return replace(config, embedding=replace(embedding, query_share=seconds / embedding.timeout_seconds))
    return config


def expecting(config: Config, value: object, origin: str) -> Config:
    """
    The settings where vectors must have a width; 0 takes any.

    Raises:
        ConfigError: It is none.
    """
    try:
        width = _number(int, value, 0, 65_536)
    except ValueError as error:
        raise ConfigError(f"{origin}: {error}") from error
    return replace(config, embedding=replace(config.embedding, expected_dimension=int(width)))


def _check_secret(key: str, value: object, origin: str) -> None:
    """
    Raises:
        ValueError: It holds a password that came from a file, or is to go into one.
    """
    if _shown(key, value) != value and not origin.startswith("$") and origin != FLAG:
        raise ValueError(f"a password is never saved in a file; set the whole URL in ${variable(key)}")


def _checked(definition: Field[Any], value: object) -> object:
    choices: tuple[str, ...] = definition.metadata["choices"]
    if choices and value not in choices and value not in (more := _plugged(definition.metadata["group"])):
        raise ValueError(f"{value!r} is none of {', '.join((*choices, *more))}")
    default: object = definition.default
    if word := definition.metadata["word"]:
        return word if value == word else _number(float, value, *definition.metadata["range"], word=word)
    match default:
        case bool():
            named = dict.fromkeys(("true", "yes", "on", "1"), True) | dict.fromkeys(("false", "no", "off", "0"), False)
            if str(value).lower() not in named:
                raise ValueError(f"{value!r} is neither true nor false")
            return named[str(value).lower()]
        case str():
            if not isinstance(value, str):
                raise TypeError(f"expected text, not {value!r}")
            if "\0" in value or value.encode(errors="replace").decode() != value:
                raise ValueError(f"{value!r} is not text")
            if (check := definition.metadata["check"]) is not None:
                check(value)
            return value
    return _number(int if isinstance(default, int) else float, value, *definition.metadata["range"])


def _plugged(group: str) -> tuple[str, ...]:
    """Names that other packages provide for an entry-point group; looked up only for a value that is not ours."""
    if not group:
        return ()
    from importlib.metadata import entry_points

    return tuple(sorted(entry_points(group=group).names))


def _number(kind: type[int | float], value: object, low: float, high: float, *, word: str = "") -> float:
    try:
        number = kind(str(value)) if not isinstance(value, bool) else None
    except ValueError:
        number = None
    if number is None or not low <= number <= high:
        sort = "a whole number" if kind is int else "a number"
        raise ValueError(f"expected {f'{word} or ' if word else ''}{sort} from {low:,} to {high:,}, not {value!r}")
    return number


@cache
def _definitions() -> Mapping[str, Field[Any]]:
    found: dict[str, Field[Any]] = {}
    for one in fields(Config):
        if isinstance(one.default_factory, type):
            found |= {f"{one.name}.{inner.name}": inner for inner in fields(one.default_factory) if inner.metadata}
        elif one.metadata:
            found[one.name] = one
    return found


def variable(key: str) -> str:
    """The environment variable that sets a setting."""
    return f"MEMORY_{key.replace('.', '_').upper()}"


def keys() -> list[str]:
    """The keys of all settings, in the order of the example file: "home", "store.url", ..."""
    return list(_definitions())


def value(config: Config, key: str) -> object:
    """What may be shown of a setting: all but passwords."""
    found: object = attrgetter(key)(config)
    return _shown(key, found)


def _shown(key: str, value: object) -> object:
    """Without its password; a ValueError of what should be a server's URL, and is none."""
    if not _definitions()[key].metadata["server"]:
        return value
    from memory.schema.databases import without_password

    return without_password(str(value))


def meaning(key: str) -> str:
    """One line on what a setting does."""
    return str(_definitions()[key].metadata["meaning"])


class Flags(NamedTuple):
    """What stands between `memory` and the name of a command; None for what does not."""

    home: str | None = None
    config: str | None = None
    store: str | None = None
    user: str | None = None

    @property
    def settings(self) -> dict[str, str | None]:
        """As settings, which win over those of the file and of the environment."""
        return {"home": self.home, "store.url": self.store, "user": self.user}

    @property
    def file(self) -> str:
        """The settings file, which says where the database is. It may not exist yet."""
        return located(self.config, env=os.environ, flags=self.settings)

    def load(self, **more: object) -> Config:
        """The settings in force, with some more."""
        return load(self.config, flags=self.settings | more)
