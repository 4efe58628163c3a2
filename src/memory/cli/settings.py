"""Commands that show and change settings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from memory.cli.options import PATH, as_json, named_file, opened, settings, show, tell
from memory.config.config import FILE, keys, meaning, value, with_setting
from memory.schema.errors import ConfigError, EmbedError, Invalid, did_you_mean, explained

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memory.config.adopt import Adoption, Change
    from memory.config.config import Config
    from memory.schema.space import Space
    from memory.write.estimate import Forecast

ASKED = frozenset(
    f"embedding.{name}"
    for name in (
        "provider model runtime dimensions passage_prefix device ollama_host openai_base_url openai_key_env fallback".split()
    )
)
"""Settings after which the model is asked whether it can be used."""


class _Settings(click.Group):
    """`memory config` and `memory config KEY` show; `memory config set` and `memory config import` change."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        first = next((arg for arg in args if arg[:1] != "-"), "")
        if not {"-h", "--help"} & set(args) and first not in ("set", "import"):
            args = ["show", *args]
        return super().parse_args(ctx, args)


@click.group(cls=_Settings, short_help="Show every setting, or change one: `memory config set KEY VALUE`.")
def config() -> None:
    """
    Every setting with its value and where it came from: default, file, environment or flag.

    \b
        memory config                                shows all
        memory config search                         shows a section; search.limit shows one
        memory config set search.limit 10            changes one in config.yaml
        memory config set embedding.provider ollama  asks it first, and says what to do next
        memory config import config.json             takes over the settings of another program
    """


@config.command("show", short_help="Show settings, which `memory config` does too.")
@click.argument("key", required=False)
@as_json
@click.pass_context
def show_(context: click.Context, /, key: str | None, *, as_json: bool) -> None:
    """Every setting, or those that begin with KEY, with its value and where it came from."""
    from memory.config.adopt import beside

    found = settings(context)
    shown = _shown(key)
    file = _file(context, found)
    foreign = tuple(beside(str(file.parent), found))
    if as_json:
        from memory.operations.render import data

        rows: list[dict[str, object]] = [
            {
                "key": name,
                "value": value(found, name),
                "origin": found.origins.get(name, "default"),
                "meaning": meaning(name),
            }
            for name in shown
        ]
        values = {"file": str(file), "settings": rows, "notices": data.notices(foreign)}
        show(data.document("config", values))
        return
    width = max(map(len, shown))
    for name in shown:
        text = str(value(found, name))
        click.echo(f"{name:<{width}}  {text or repr(text):<10}  {found.origins.get(name, 'default')}")
    tell(foreign)


def _file(context: click.Context, found: Config) -> Path:
    return named_file(context) or Path(found.folder) / FILE


def _shown(key: str | None) -> list[str]:
    if key is None:
        return keys()
    shown = [name for name in keys() if name == key or name.startswith(f"{key}.")]
    if not shown:
        raise ConfigError(f"no setting {key!r}", hint=did_you_mean(key, keys(), "See `memory config`."))
    return shown


@config.command("set", short_help="Change settings in config.yaml.")
@click.argument("pairs", nargs=-1, required=True, metavar="KEY VALUE [KEY VALUE]...")
@click.option("--no-check", is_flag=True, help="Do not ask the model first.")
@as_json
@click.pass_context
def set_(context: click.Context, /, pairs: tuple[str, ...], *, no_check: bool, as_json: bool) -> None:
    """
    Change settings in config.yaml; comments and all else there stay as they are.

    A model is asked for one vector before it is written down. If it cannot be used, nothing is changed.

    \b
        memory config set embedding.provider ollama embedding.model mxbai-embed-large
        memory config set embedding.daily_budget "500 calls"
    """
    if len(pairs) % 2:
        raise Invalid(f"{pairs[-1]!r} has no value", hint="Give pairs: memory config set search.limit 10.")
    before = settings(context)
    named = dict(zip(pairs[::2], pairs[1::2], strict=True))
    changes, config = _changed(before, named)
    asked = not no_check and ASKED & set(changes) and config.embedding.provider != "none"
    space, plan, stored = _asked(context, config) if asked else (None, None, None)
    file = _write_settings(context, before, changes)
    if as_json:
        from memory.operations.render import care_data

        show(care_data.configured(str(file), changes, space, plan))
    else:
        for key, new in changes.items():
            click.echo(f"{key} = {new!s}" if new != "" else f"{key} = '' (the default)")
        for line in _next(space, plan, stored):
            click.echo(line)
    _tell_overruled(before, changes)


@config.command("import", short_help="Take over the settings of another program.")
@click.argument("foreign", type=PATH, metavar="FILE")
@click.option("--dry-run", is_flag=True, help="Say what would change, and change nothing.")
@click.option("--no-check", is_flag=True, help="Do not ask the model first.")
@as_json
@click.pass_context
def import_(context: click.Context, /, foreign: str, *, dry_run: bool, no_check: bool, as_json: bool) -> None:
    """
    Take over the settings of another program, from JSON, TOML or YAML, into config.yaml.

    Each key is named: what it is here and what it was before, or that it is unknown. All of them are taken over or,
    if one has a value that cannot be, none. Keys and passwords stay out of files: the environment holds them.

    \b
        memory config import config.json --dry-run
        memory config import ~/.config/researcher/config.toml
    """
    from memory.config.adopt import adoption

    before = settings(context)
    found = adoption(foreign, before)
    changes, config = _changed(before, {one.key: one.value for one in found.changes}, foreign)
    asked = not (no_check or dry_run) and ASKED & set(changes) and config.embedding.provider != "none"
    space, plan, stored = _asked(context, config) if asked else (None, None, None)
    file = _file(context, before) if dry_run or not changes else _write_settings(context, before, changes)
    rows = _rows(found, changes, before)
    if as_json:
        from memory.operations.render import care_data

        show(care_data.adopted(str(file), found, rows, config=config, dry_run=dry_run, asked=(space, plan)))
    else:
        for line in (*map(_taken, rows), *_next(space, plan, stored)):
            click.echo(line)
        tell(found.notices)
    _tell_left_out(found, config)
    if dry_run or not changes:
        why = "this was a dry run" if dry_run else "it has no setting that is taken over"
        click.echo(f"memory: nothing was changed: {why}", err=True)
    else:
        _tell_overruled(before, changes)


def _rows(found: Adoption, changes: dict[str, object], before: Config) -> list[Change]:
    """What is written: the settings of the file, and what another provider makes of the model's."""
    from memory.config.adopt import Change

    named = {one.key: one for one in found.changes}
    return [
        named.get(key) or Change(key, new, value(before, key), before.origins.get(key, "default"), "")
        for key, new in changes.items()
    ]


def _tell_left_out(found: Adoption, config: Config) -> None:
    for one in found.secrets:
        held = f"${one.variable(config)} holds the key"
        if one.setting:
            held = (
                f"${one.variable(config)} takes the address as it is, `memory config set {one.setting}` one without "
                "user, password and key"
            )
        click.echo(f"memory: {one.named} is not taken over: no secret is written; {held}", err=True)
    for key, suggestion in found.unknown:
        click.echo(
            f"memory: {key} is no setting here{f'; the nearest is {suggestion}' if suggestion else ''}", err=True
        )


def _taken(row: Change) -> str:
    """What becomes of a setting, in a line."""
    was = "as before" if row.value == row.before else f"was {row.before!r}"
    return (
        f"{row.key} = {row.value if row.value != '' else repr(row.value)}  ({was})  # {row.named or 'another provider'}"
    )


def _write_settings(context: click.Context, before: Config, changes: dict[str, object]) -> Path:
    """Write settings into the file, which it returns."""
    from memory.config.edit import write_settings

    file = _file(context, before)
    with explained(ConfigError, f"cannot make the folder {file.parent}"):
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_settings(str(file), changes)
    return file


def _tell_overruled(before: Config, changes: dict[str, object]) -> None:
    for key in changes:
        if (variable := before.origins.get(key, "")).startswith("$"):
            click.echo(f"memory: {variable} is set and comes before {key} in the file", err=True)


def _changed(
    before: Config, named: Mapping[str, object], origin: str = "memory config set"
) -> tuple[dict[str, object], Config]:
    """The settings with their checked values; another provider's model is not this one's."""
    provider = named.get("embedding.provider", before.embedding.provider)
    if provider != before.embedding.provider:
        own = {
            "embedding.model": before.embedding.model,
            "embedding.dimensions": str(before.embedding.dimensions or ""),
        }
        named = dict(named) | {
            key: "0" if key.endswith("dimensions") else "" for key, text in own.items() if text and key not in named
        }
    config = before
    for key, text in named.items():
        config = with_setting(config, key, text, origin)
    return {key: value(config, key) for key in named}, config


def _asked(context: click.Context, config: Config) -> tuple[Space, Forecast, Space | None]:
    """Where the model's vectors are, what a reindex to it would take, and where the stored ones are."""
    from memory.store import active

    with opened(context, config) as engine:
        try:
            space, plan = engine.vectors.probe(), engine.vectors.estimate()
        except EmbedError as error:
            why = f"{error.hint.rstrip('.')}. " if error.hint else ""
            error.hint = f"{why}Nothing was changed; with --no-check it is set all the same."
            raise
        found = engine.maintenance.status().generations
    stored = active(generation for generation, _ in found)
    return space, plan, stored and stored.space


def _next(space: Space | None, plan: Forecast | None, stored: Space | None) -> list[str]:
    if space is None or plan is None:
        return []
    from memory.operations.render import care_text

    lines = [f"{space.provider}:{space.model} answers, {space.dimension} dimensions"]
    if stored not in (None, space):
        lines += [
            f"next      memory reindex  ({care_text.takes(plan)})",
            "          until you begin it searches go by keyword, and by the former vectors until it is done",
        ]
    elif plan.chunks:
        lines.append(f"next      memory embed  ({care_text.takes(plan)})")
    return lines
