"""Commands that show and change settings."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from memory.config import FILE, Config, keys, meaning, value, with_setting
from memory.config.adopt import Adoption, FormerSetting, adoption, beside
from memory.config.edit import yaml_text
from memory.config.settings import FORMER
from memory.engine import Engine
from memory.schema.errors import ConfigError, EmbedError, Invalid, did_you_mean, explained, printable
from memory.tools.operation import Call, Given, Option, Shown, command
from memory.tools.render import care_text, data
from memory.tools.render.text import notice, table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from memory.engine.vectors import Forecast
    from memory.schema.space import Space

    Asked: TypeAlias = tuple[Space | None, Forecast | None, Space | None]
    """Where the model's vectors are, what a reindex to it would take, and where the stored ones are, if it was asked."""

ASKED = frozenset(f"embedding.{name}" for name in "provider model dimensions base_url openai_key_env".split())
"""If one of these changes, the model is tried."""

NO_CHECK = Option("--no-check", "Do not try the model first.")


@command("show", Option("[KEY]"))
def show(call: Call, a: Given) -> Shown:
    """
    Show settings with their values. Those that were changed come first, with where they were changed. KEY is a setting
    or a section.

    \b
        memory config show search.limit
    """
    found = call.settings()
    names = _named(a["key"])
    file = Path(call.flags.file)
    foreign = tuple(beside(str(file.parent), found))
    rows = [(name, value(found, name), found.origins.get(name, "default")) for name in names]
    values = {
        "file": str(file),
        "settings": [
            {"key": name, "value": current, "origin": origin, "meaning": meaning(name)}
            for name, current, origin in rows
        ],
        "notices": data.notices(foreign),
    }
    text = _table(rows, str(file), headed=a["key"] is None)
    if len(rows) == 1:
        text += f"\n{meaning(names[0])}"
    return Shown(data.document("config", values), text, [*map(notice, foreign)])


def _table(rows: Sequence[tuple[str, object, str]], file: str, *, headed: bool) -> str:
    """Settings as lines: those that were changed, with their origin, then those at their defaults."""
    shown = [
        (key, yaml_text(current), "" if origin == "default" else FILE if origin == file else origin)
        for key, current, origin in rows
    ]
    lines = table(shown).splitlines()
    changed = [line for line, row in zip(lines, shown, strict=True) if row[2]]
    usual = [line for line, row in zip(lines, shown, strict=True) if not row[2]]
    if not headed:
        return "\n".join([*changed, *usual])
    first = ["Changed:", *changed] if changed else ["Nothing was changed."]
    return "\n".join([*first, "", "Defaults:", *usual, "", f"The settings file is {printable(file)}."])


def _named(key: str | None) -> list[str]:
    if key is not None and key in FORMER:
        raise ConfigError(f"no setting {key!r}", hint=FORMER[key].now)
    names = [name for name in keys() if key is None or name == key or name.startswith(f"{key}.")]
    if not names:
        raise ConfigError(f"no setting {key!r}", hint=did_you_mean(str(key), keys(), "See `memory config`."))
    return names


@command("set", Option("KEY VALUE [KEY VALUE]..."), NO_CHECK)
def set_(call: Call, a: Given) -> Shown:
    """
    Change settings in config.yaml. Comments and all other lines stay as they are.

    A model is first asked for one vector. If that fails, nothing is changed.

    \b
        memory config set embedding.provider ollama embedding.model mxbai-embed-large
        memory config set embedding.daily_budget "500 calls"
    """
    pairs = a["key"]
    if len(pairs) % 2:
        raise Invalid(f"{pairs[-1]!r} has no value", hint="Give pairs: memory config set search.limit 10.")
    before = call.settings()
    changes, config = _changed(call, before, dict(zip(pairs[::2], pairs[1::2], strict=True)))
    asked = _asked(config, changes, check=not a["no_check"])
    file = write_changes(call.flags.file, changes)
    lines = [f"{key} = {yaml_text(new)}" for key, new in changes.items()]
    values = data.document("config-set", {"file": str(file), "settings": changes} | _model(*asked[:2]))
    return Shown(values, "\n".join([*lines, *_next(*asked)]), warnings=[*_overruled(before, changes)])


@command("unset", Option("KEY..."), NO_CHECK)
def unset(call: Call, a: Given) -> Shown:
    """
    Remove settings from config.yaml, so that their defaults hold again.

    \b
        memory config unset search.limit
    """
    before, usual = call.settings(), Config()
    former = dict.fromkeys(key for key in a["key"] if key in FORMER)
    changes, config = _changed(
        call, before, {key: value(usual, _named(key)[0]) for key in a["key"] if key not in former}
    )
    asked = _asked(config, changes, check=not a["no_check"])
    file = write_changes(call.flags.file, dict.fromkeys((*former, *changes)))
    lines = [f"{key} is not in the file any more. {FORMER[key].now}" for key in former]
    lines += [f"{key} = {yaml_text(new)} (the default)" for key, new in changes.items()]
    values = data.document("config-unset", {"file": str(file), "settings": former | changes} | _model(*asked[:2]))
    return Shown(values, "\n".join([*lines, *_next(*asked)]), warnings=[*_overruled(before, changes)])


@command("import", Option("FILE"), Option("--dry-run", "Only show what would change."), NO_CHECK)
def import_(call: Call, a: Given) -> Shown:
    """
    Import another program's settings into config.yaml.

    FILE is JSON, TOML or YAML. Each key is listed with the name it has here and its value before, or as unknown. If one
    value cannot be used, nothing is imported. Keys and passwords stay out of files: they belong in the environment.

    \b
        memory config import config.json --dry-run
        memory config import ~/.config/researcher/config.toml
    """
    before, dry_run = call.settings(), a["dry_run"]
    found = adoption(a["file"], before)
    changes, config = _changed(call, before, {one.key: one.value for one in found.changes}, a["file"])
    config = replace(
        config, embedding=replace(config.embedding, expected_dimension=found.config.embedding.expected_dimension)
    )
    asked = _asked(config, changes, check=not (a["no_check"] or dry_run), expected=found.expected)
    file = Path(call.flags.file) if dry_run or not changes else write_changes(call.flags.file, changes)
    named = {one.key: one for one in found.changes}
    rows = [  # the settings of the file, and the model settings that a new provider resets
        named.get(key) or FormerSetting(key, new, value(before, key), before.origins.get(key, "default"), "")
        for key, new in changes.items()
    ]
    warnings = [*_left_out(found, config)]
    if dry_run or not changes:
        why = "this was a dry run" if dry_run else "it has no setting to import"
        warnings.append(f"nothing was changed: {why}")
    else:
        warnings += _overruled(before, changes)
    values = {
        "file": str(file),
        "dry_run": dry_run,
        "settings": [row._asdict() for row in rows],
        "secrets": [{"named": one.named, "variable": one.variable(config)} for one in found.secrets],
        "unknown": [{"named": key, "nearest": suggestion or None} for key, suggestion in found.unknown],
        "notices": data.notices(found.notices),
    }
    return Shown(
        data.document("config-import", values | _model(*asked[:2])),
        "\n".join([*map(_taken, rows), *_next(*asked)]),
        [*map(notice, found.notices)],
        warnings=warnings,
    )


def _model(space: Space | None, plan: Forecast | None) -> dict[str, Any]:
    """The space of the model and what a reindex to it would take, if it was asked."""
    return {"space": space and space._asdict(), "reindex": plan and plan._asdict()}


def _changed(
    call: Call, before: Config, named: Mapping[str, object], origin: str = ""
) -> tuple[dict[str, object], Config]:
    """The settings with their checked values; a new provider does not keep the former one's model and server."""
    if named.get("embedding.provider", before.embedding.provider) != before.embedding.provider:
        former = {
            "embedding.model": (before.embedding.model, ""),
            "embedding.dimensions": (before.embedding.dimensions, "0"),
            "embedding.base_url": (before.embedding.base_url, ""),
        }
        named = {**named, **{key: new for key, (old, new) in former.items() if old and key not in named}}
    config = before
    for key, text in named.items():
        config = with_setting(config, key, text, origin)
    if before.former:  # a server that one of them names is that of the new provider
        config = call.flags.load(**named)
    return {key: value(config, key) for key in named}, config


def _asked(config: Config, changes: Mapping[str, object], *, check: bool, expected: bool = False) -> Asked:
    if not check or not (ASKED & changes.keys() or expected) or config.embedding.provider == "none":
        return None, None, None
    with Engine.open(config, lasting=False) as engine:
        try:
            space, plan = engine.vectors.probe(), engine.vectors.estimate()
        except EmbedError as error:
            why = f"{error.hint.rstrip('.')}. " if error.hint else ""
            error.hint = f"{why}Nothing was changed; with --no-check it is set anyway."
            raise
        stored = engine.store.generations.active()
    return space, plan, stored and stored.space


def write_changes(name: str, changes: Mapping[str, object]) -> Path:
    """Write settings into the file of this name, which it returns."""
    from memory.config.edit import write_settings

    file = Path(name)
    with explained(ConfigError, f"cannot make the folder {file.parent}"):
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_settings(str(file), changes)
    return file


def _taken(row: FormerSetting) -> str:
    """A setting that was imported, as a line."""
    was = "as before" if row.value == row.before else f"was {yaml_text(row.before)}"
    return f"{row.key} = {yaml_text(row.value)}  ({was})  # {row.named or 'another provider'}"


def _left_out(found: Adoption, config: Config) -> Iterator[str]:
    for one in found.secrets:
        held = f"${one.variable(config)} is where the key belongs"
        if one.setting:
            held = (
                f"${one.variable(config)} is where the address belongs as it is; `memory config set {one.setting}` takes "
                "one without user, password and key"
            )
        yield f"{one.named} is not imported, since no secret is written to a file: {held}"
    for key, suggestion in found.unknown:
        if key in FORMER:
            yield f"{key} is not a setting any more: {FORMER[key].now}"
            continue
        yield f"{key} is not a setting here{f'; the nearest is {suggestion}' if suggestion else ''}"


def _overruled(before: Config, changes: Mapping[str, object]) -> Iterator[str]:
    for key in changes:
        if (variable := before.origins.get(key, "")).startswith("$"):
            yield f"{variable} is set and overrides {key} in the file"


def _next(space: Space | None, plan: Forecast | None, stored: Space | None) -> list[str]:
    if space is None or plan is None:
        return []
    from memory.vectors.providers import SERVERS

    lines = [f"{space.provider}:{space.model} answers, {space.dimension} dimensions"]
    if stored not in (None, space):
        # A server of another provider is not asked any more: the settings do not say where it listens.
        former = stored is not None and (stored.provider == space.provider or stored.provider not in SERVERS)
        until = "until you start it, searches use keywords; until it is done, also the former vectors"
        lines += [
            f"next      memory reindex  ({care_text.takes(plan)})",
            f"          {until if former else 'until it is done, searches use keywords'}",
        ]
    elif plan.chunks:
        lines.append(f"next      memory embed  ({care_text.takes(plan)})")
    return lines
