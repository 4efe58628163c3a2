"""Settings files of other programs, in our words: which of their keys are settings here, and which are not."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple

from memory.config.config import keys, tree, value, with_setting
from memory.config.files import SETTINGS_BYTES, contents, utf8
from memory.config.settings import variable
from memory.schema.answer import Notice
from memory.schema.errors import ConfigError
from memory.schema.limits import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from memory.config.config import Config

FILES = ("config.json", "config.toml")
"""Names under which other programs keep settings where ours is config.yaml."""

OURS: Mapping[str, str] = {
    "embeddings.provider": "embedding.provider",
    "embeddings.model": "embedding.model",
    "embeddings.batch_size": "embedding.batch_size",
    "embeddings.dimensions": "embedding.expected_dimension",
    "vector_search.default_threshold": "graph.threshold",
    "vector_search.default_k": "graph.limit",
    "vector_search.hybrid_weight": "graph.vector_weight",
    "export_memories": "research.export_memories",
    "config.export_memories": "research.export_memories",
    "research.export_memories": "research.export_memories",
    "ollama.host": "embedding.ollama_host",
    "ollama.embedding_dimensions": "embedding.expected_dimension",
    "memory_home": "home",
}
"""What other programs call a setting (CAP E23, E24, C40) that means the same here."""

READ = (*OURS, "embeddings.auto_generate", "ollama.embedding_model", "embedding.base_url")
"""All foreign keys that are settings here; the last three take more than another name."""

SECRET = frozenset("key apikey token secret password passwd".split())
"""The last word of a secret's name."""

ADDRESSES = frozenset({"embedding.ollama_host", "embedding.openai_base_url", "embedding.fallback"})
"""Settings that say where a server is: what stands before an @ in one is a user and a password."""

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_ARGUMENT = re.compile(r"[?&;]([^=&;]+)=")


THRESHOLD = Notice(
    "graph.threshold is a cosine: at 0.5 most questions about short facts find nothing (docs/decisions/0016)",
    hint="`memory config set graph.threshold auto` lets confidence decide.",
)


class Change(NamedTuple):
    """
    One setting as a file has it.

    Attributes:
        key, value: The setting here, checked.
        before: Its value in force.
        origin: Where that comes from.
        named: The key in the file.
    """

    key: str
    value: object
    before: object
    origin: str
    named: str


class Secret(NamedTuple):
    """
    What is not taken over, for it is secret.

    Attributes:
        named: The key in the file.
        setting: The setting here, of an address that holds a password; else "".
    """

    named: str
    setting: str = ""

    def variable(self, config: Config) -> str:
        """The environment variable that takes it."""
        return variable(self.setting) if self.setting else config.embedding.openai_key_env


class Adoption(NamedTuple):
    """
    What becomes of a file.

    Attributes:
        changes: In the order of the file.
        secrets: What is not taken over, for it holds one.
        unknown: Keys that are no setting here, each with the nearest of ours, or "".
        config: The settings with the changes.
        notices: What means something else here than it may have meant.
    """

    changes: tuple[Change, ...]
    secrets: tuple[Secret, ...]
    unknown: tuple[tuple[str, str], ...]
    config: Config
    notices: tuple[Notice, ...] = ()


def adoption(file: str, before: Config) -> Adoption:
    """
    What a settings file of another program says, as ours.

    Args:
        file: JSON, TOML or YAML, by the ending of its name.

    Raises:
        ConfigError: It cannot be read, is none of the three, says two things of one setting, or a setting does not
            take the value.
    """
    said = {key: given for key, given in _flat(_tree(file)) if given is not None}
    values: dict[str, tuple[object, str]] = {}
    secrets: list[Secret] = []
    unknown: list[tuple[str, str]] = []
    for key, given in said.items():
        if _is_secret(key):
            secrets.append(Secret(key))
            continue
        if not (named := _ours(key, given, said, before)):
            unknown.append((key, _suggestion(key)))
        if _holds_secret(given, named):
            secrets.append(Secret(key, next(iter(named))))
            continue
        for ours, meant in named.items():
            if ours in values and values[ours][0] != meant:
                raise ConfigError(f"{file}: {values[ours][1]} and {key} both say {ours}", hint="Take one of them out.")
            values[ours] = (meant, key)
    config = before
    for ours, (meant, key) in values.items():
        if not isinstance(meant, (str, int, float)):
            raise ConfigError(f"{file}: {key} holds a {type(meant).__name__}, not a setting")
        config = with_setting(config, ours, meant, f"{file}: {key}")
    changes = (
        Change(ours, value(config, ours), value(before, ours), before.origins.get(ours, "default"), key)
        for ours, (_, key) in values.items()
    )
    notices = (THRESHOLD,) if "graph.threshold" in values else ()
    return Adoption(tuple(changes), tuple(secrets), tuple(unknown), config, notices)


def beside(folder: str, config: Config) -> Iterator[Notice]:
    """Settings files of other programs that lie in a folder, say something else than is in force, and are not read."""
    for name in FILES:
        file = os.path.join(folder, name)
        if not os.path.isfile(file):
            continue
        try:
            changes = adoption(file, config).changes
        except ConfigError as error:
            yield Notice(f"{printable(file)} is not read: config.yaml is. It cannot be imported either: {error}")
            continue
        # What comes from the environment or a flag would be another one even after an import.
        if any(one.value != one.before and not one.origin.startswith(("$", "flag")) for one in changes):
            hint = f"`memory config import {printable(file)}` takes it over; --dry-run shows what that changes."
            yield Notice(f"{printable(file)} is not read: config.yaml is", hint=hint)


def _is_secret(key: str) -> bool:
    words = _WORD.findall(key.rpartition(".")[2])
    return bool(words) and words[-1].lower() in SECRET and key not in keys()


def _holds_secret(given: object, named: Mapping[str, object]) -> bool:
    """Whether the value of some settings is an address with a user and a password, or with a secret in its query."""
    if not (isinstance(given, str) and named):
        return False
    address = "://" in given or not ADDRESSES.isdisjoint(named)
    return address and ("@" in given or any(map(_is_secret, _ARGUMENT.findall(given))))


def _ours(key: str, given: object, said: Mapping[str, object], before: Config) -> dict[str, object]:
    """The settings that a key of a file stands for; none if it is unknown."""
    match key:
        case "embeddings.auto_generate":
            if not isinstance(given, bool):
                raise ConfigError(f"{key}: {given!r} is neither true nor false")
            return {"embedding.fill": "auto" if given else "lazy"}
        case "ollama.embedding_model":
            return {"embedding.provider": "ollama", "embedding.model": given}
        case "embedding.base_url":
            provider = said.get("embedding.provider", before.embedding.provider)
            return {f"embedding.{'ollama_host' if provider == 'ollama' else 'openai_base_url'}": given}
    ours = OURS.get(key, key)
    return {ours: given} if ours in keys() else {}


def _suggestion(key: str) -> str:
    """The setting of ours whose name, or whose other name, is most like a key; "" if none is."""
    from difflib import get_close_matches

    known = {ours: ours for ours in keys()} | dict(OURS)
    if found := get_close_matches(key, known, n=1, cutoff=0.7):
        return known[found[0]]
    names = {ours.rpartition(".")[2]: ours for ours in reversed(keys())}
    found = get_close_matches(key.rpartition(".")[2], names, n=1, cutoff=0.7)
    return names[found[0]] if found else ""


def _flat(read: object) -> Iterator[tuple[str, object]]:
    """Keys and values of a file, those of a section as "section.name"; what lies deeper is a value."""
    if not isinstance(read, dict):
        raise ConfigError(f"expected settings by name, not {type(read).__name__}")
    for name, given in read.items():
        if isinstance(given, dict):
            yield from ((f"{name}.{inner}", deeper) for inner, deeper in given.items())
        else:
            yield str(name), given


def _tree(file: str) -> object:
    """
    What a file says.

    Raises:
        ConfigError: It cannot be read, or is not what the ending of its name says.
    """
    text, ending = _text(file), os.path.splitext(file)[1].lower()
    try:
        match ending:
            case ".json":
                import json

                return json.loads(text)
            case ".toml":
                import tomllib

                return tomllib.loads(text)
            case ".yaml" | ".yml":
                return dict(tree(text, file))
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{printable(file)} is not {ending[1:].upper()}: {error}") from error
    raise ConfigError(
        f"{printable(file)}: settings are read from .json, .toml and .yaml", hint="Give it the ending of what it is."
    )


def _text(file: str) -> str:
    try:
        return utf8(contents(file, SETTINGS_BYTES), printable(file), ConfigError)
    except OSError as error:
        raise ConfigError(f"cannot read {printable(file)}: {error.strerror}") from error
