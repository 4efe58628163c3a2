"""Settings files of other programs, translated: which of their keys are settings here, and which are not."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple

from memory.config import Config, expecting, keys, tree, value, variable, with_setting
from memory.config.files import SETTINGS_BYTES, contents, utf8
from memory.schema.answer import Notice
from memory.schema.errors import ConfigError, explained, printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


FILES = ("config.json", "config.toml")
"""File names that other programs use for settings, where ours is config.yaml."""

RENAMED: Mapping[str, str] = {
    "embeddings.provider": "embedding.provider",
    "embeddings.model": "embedding.model",
    "embeddings.auto_generate": "embedding.fill",
    "embeddings.batch_size": "embedding.batch_size",
    "vector_search.default_threshold": "graph.threshold",
    "vector_search.default_k": "graph.limit",
    "vector_search.hybrid_weight": "graph.vector_weight",
    "export_memories": "research.export_memories",
    "config.export_memories": "research.export_memories",
    "ollama.host": "embedding.base_url",
    "ollama.embedding_model": "embedding.model",
    "memory_home": "home",
}
"""Names that other programs use for a setting here."""

WIDTHS = ("embeddings.dimensions", "ollama.embedding_dimensions")
"""Names that other programs use for the width that they know a model to have; a setting would request it of the model."""

EXPECTED = "embedding.expected_dimension"

OLLAMA = ("ollama.host", "ollama.embedding_dimensions")
"""What holds for no other provider."""

SECRET = frozenset("key apikey token secret password passwd".split())
"""The last word of a key that names a secret."""

ADDRESS = "embedding.base_url"
"""The setting that holds a server's address; a part before an @ in one is a user and a password."""

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_ARGUMENT = re.compile(r"[?&;]([^=&;]+)=")


THRESHOLD = Notice(
    "graph.threshold is a cosine: at 0.5 most questions about short facts match nothing (docs/decisions/graph.md)",
    hint="`memory config set graph.threshold auto` makes it automatic.",
)


class FormerSetting(NamedTuple):
    """
    One setting from a file.

    Attributes:
        key, value: The setting here, checked.
        before: Its value in force.
        origin: Where that value comes from.
        named: The key in the file.
    """

    key: str
    value: object
    before: object
    origin: str
    named: str


class Secret(NamedTuple):
    """
    A key that is not taken over, because its value is secret.

    Attributes:
        named: The key in the file.
        setting: The setting here, if it is an address with a password in it; else "".
    """

    named: str
    setting: str = ""

    def variable(self, config: Config) -> str:
        """The environment variable to put it in."""
        return variable(self.setting) if self.setting else config.embedding.openai_key_env


class Adoption(NamedTuple):
    """
    What a file means for the settings here.

    Attributes:
        changes: In the order of the file.
        secrets: Keys not taken over, because they hold a secret.
        unknown: Keys that are no setting here, each with the nearest of ours, or "".
        config: The settings with the changes.
        notices: About what is not imported, or may have meant something else in the other program.
        expected: Whether the file says what width the vectors have.
    """

    changes: tuple[FormerSetting, ...]
    secrets: tuple[Secret, ...]
    unknown: tuple[tuple[str, str], ...]
    config: Config
    notices: tuple[Notice, ...] = ()
    expected: bool = False


def adoption(file: str, before: Config) -> Adoption:
    """
    Translate another program's settings file into ours.

    Args:
        file: JSON, TOML or YAML, by the extension of its name.

    Raises:
        ConfigError: It cannot be read, has none of the three formats, gives a setting two values, or gives one a value
            that it does not take.
    """
    said = {key: given for key, given in _flat(_tree(file)) if given is not None}
    providers = [_ours(key, given).get("embedding.provider") for key, given in said.items()]
    provider = str(next(filter(None, providers), before.embedding.provider))  # that there is after the import
    values: dict[str, tuple[object, str]] = {}
    notices: list[Notice] = []
    secrets: list[Secret] = []
    unknown: list[tuple[str, str]] = []
    for key, given in said.items():
        if _is_secret(key):
            secrets.append(Secret(key))
            continue
        if key in OLLAMA and provider != "ollama":
            hint = "After `memory config set embedding.provider ollama`, an import takes it."
            notices.append(Notice(f"{key} is not imported, since the provider is {provider}", hint=hint))
            continue
        if not (named := _ours(key, given)):
            unknown.append((key, _suggestion(key)))
        if _holds_secret(given, named):
            secrets.append(Secret(key, next(iter(named))))
            continue
        for ours, meant in named.items():
            if ours in values and values[ours][0] != meant:
                raise ConfigError(f"{file}: {values[ours][1]} and {key} both say {ours}", hint="Remove one of them.")
            values[ours] = (meant, key)
    config = before
    width, named_width = values.pop(EXPECTED, (0, ""))
    if named_width:
        config = expecting(config, width, f"{file}: {named_width}")
        hint = "The variable EMBEDDING_DIM, set to it, checks it at every use."
        notices.append(Notice(f"{named_width} is only checked by this import; it is not a setting here", hint=hint))
    for ours, (meant, key) in values.items():
        if not isinstance(meant, (str, int, float)):
            raise ConfigError(f"{file}: {key} holds a {type(meant).__name__}, not a setting")
        config = with_setting(config, ours, meant, f"{file}: {key}")
    changes = (
        FormerSetting(ours, value(config, ours), value(before, ours), before.origins.get(ours, "default"), key)
        for ours, (_, key) in values.items()
    )
    if "graph.threshold" in values:
        notices.append(THRESHOLD)
    return Adoption(tuple(changes), tuple(secrets), tuple(unknown), config, tuple(notices), expected=bool(named_width))


def beside(folder: str, config: Config) -> Iterator[Notice]:
    """Notices about other programs' settings files in a folder that are not read and differ from what is in force."""
    for name in FILES:
        file = os.path.join(folder, name)
        if not os.path.isfile(file):
            continue
        try:
            changes = adoption(file, config).changes
        except ConfigError as error:
            yield Notice(f"{printable(file)} is not read: config.yaml is. It cannot be imported either: {error}")
            continue
        # Importing would not change what the environment or a flag sets.
        if any(one.value != one.before and not one.origin.startswith(("$", "flag")) for one in changes):
            hint = f"`memory config import {printable(file)}` takes it over; --dry-run shows what that changes."
            yield Notice(f"{printable(file)} is not read: config.yaml is", hint=hint)


def _is_secret(key: str) -> bool:
    words = _WORD.findall(key.rpartition(".")[2])
    return bool(words) and words[-1].lower() in SECRET and key not in keys()


def _holds_secret(given: object, named: Mapping[str, object]) -> bool:
    """Whether a setting's value is an address with a user and a password, or with a secret in its query."""
    if not (isinstance(given, str) and named):
        return False
    address = "://" in given or ADDRESS in named
    return address and ("@" in given or any(map(_is_secret, _ARGUMENT.findall(given))))


def _ours(key: str, given: object) -> dict[str, object]:
    """The settings that a key of a file stands for, with their values; empty if it is unknown."""
    if key in WIDTHS:
        return {EXPECTED: given}
    ours = RENAMED.get(key, key)
    if ours not in keys():
        return {}
    if key == "embeddings.auto_generate":
        if not isinstance(given, bool):
            raise ConfigError(f"{key}: {given!r} is neither true nor false")
        return {ours: "auto" if given else "lazy"}
    return {"embedding.provider": "ollama", ours: given} if key == "ollama.embedding_model" else {ours: given}


def _suggestion(key: str) -> str:
    """Our setting with the name, or the other name, most like a key; "" if none is similar."""
    from difflib import get_close_matches

    known = {ours: ours for ours in keys()} | dict(RENAMED)
    if found := get_close_matches(key, known, n=1, cutoff=0.7):
        return known[found[0]]
    names = {ours.rpartition(".")[2]: ours for ours in reversed(keys())}
    found = get_close_matches(key.rpartition(".")[2], names, n=1, cutoff=0.7)
    return names[found[0]] if found else ""


def _flat(read: object) -> Iterator[tuple[str, object]]:
    """The keys and values of a file, those of a section as "section.name"; deeper mappings are values."""
    if not isinstance(read, dict):
        raise ConfigError(f"expected settings by name, not {type(read).__name__}")
    for name, given in read.items():
        if isinstance(given, dict):
            yield from ((f"{name}.{inner}", deeper) for inner, deeper in given.items())
        else:
            yield str(name), given


def _tree(file: str) -> object:
    """
    The content of a file.

    Raises:
        ConfigError: It cannot be read, or does not have the format that its extension names.
    """
    with explained(ConfigError, f"cannot read {printable(file)}"):
        text = utf8(contents(file, SETTINGS_BYTES), printable(file), ConfigError)
    ending = os.path.splitext(file)[1].lower()
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
        f"{printable(file)}: settings can be read from .json, .toml and .yaml", hint="Rename it with the right ending."
    )
