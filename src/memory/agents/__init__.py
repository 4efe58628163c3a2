"""
Registers the MCP server, the hooks and the skill of `memory` with a coding agent, and undoes it.

    register       one request: worked out, checked, then written
    parts          which files get what, and have it; instructions in Markdown
    agents         the table of agents
    edits          entries in JSON files (their text: jsontext); toml: in TOML files
    files          read, compared, copied, replaced, or changed by Claude Code's own command
    command        the machine, and the command that an agent starts

Here is where memories are for what an agent starts, and what of that its settings carry.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from memory.config import Config, load
from memory.schema.databases import without_password
from memory.schema.errors import ConfigError, Invalid

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memory.agents.command import Environment


HOME, CONFIG, STORE, USER = "--home", "--config", "--store", "--user"

OPTIONS = {HOME: "MEMORY_HOME", CONFIG: "MEMORY_CONFIG", STORE: "MEMORY_STORE_URL", USER: "MEMORY_USER"}
"""Options between the program and the subcommand, and the variables with the same meaning."""

_DATA = "XDG_DATA_HOME"

_SERVER = {
    "PGHOST": "host",
    "PGHOSTADDR": "hostaddr",
    "PGPORT": "port",
    "PGDATABASE": "dbname",
    "PGUSER": "user",
}
"""Variables that say which database is meant, with the options of a URL that say the same (PostgreSQL, "libpq")."""

_WAY = {
    "PGSERVICE": "service",
    "PGPASSFILE": "passfile",
    "PGOPTIONS": "options",
    "PGREQUIREAUTH": "require_auth",
    "PGCHANNELBINDING": "channel_binding",
    "PGSSLMODE": "sslmode",
    "PGSSLNEGOTIATION": "sslnegotiation",
    "PGSSLCERT": "sslcert",
    "PGSSLKEY": "sslkey",
    "PGSSLROOTCERT": "sslrootcert",
    "PGSSLCRL": "sslcrl",
    "PGGSSENCMODE": "gssencmode",
    "PGKRBSRVNAME": "krbsrvname",
    "PGTARGETSESSIONATTRS": "target_session_attrs",
}
"""The same of variables that say how it is reached."""

ELSEWHERE = (
    "Leave it out of the URL and put it into ~/.pgpass, a file that `?passfile=` names, or a service file: "
    "postgresql://?service=memory"
)


def carried(environment: Environment, flags: Mapping[str, str], *, shared: bool) -> dict[str, str]:
    """
    The options of an entry that make an agent use the same memories as this command.

    Args:
        flags: The options that were given; they win over variables.
        shared: The entry stands in a file that others get too.

    Raises:
        Invalid: A variable that decides where memories are can be no part of the entry.
    """
    named = {flag: value for flag, name in OPTIONS.items() if (value := environment.env.get(name, "").strip())}
    if HOME in flags:
        named.pop(STORE, None)  # a folder that is named means its file
    wanted = named | dict(flags)
    for flag in (HOME, CONFIG):
        if flag in named and flag not in flags and not Path(environment.expanded(named[flag])).is_absolute():
            hint = "Write it from / or ~ on."
            raise Invalid(f"${OPTIONS[flag]} is {named[flag]!r}, which depends on the current folder", hint=hint)
    settings = _settings(wanted, environment)
    wanted |= _of_platform(environment, wanted, settings)
    if url := wanted.get(STORE) or (str(settings.store.url) if settings else ""):
        whole = _whole(url, environment.env)
        if STORE in wanted or whole != url:
            wanted[STORE] = whole
    if shared:  # with all who work on the project: whatever decides where memories are must have been given
        if more := [flag for flag, value in wanted.items() if flags.get(flag) != value and flag != USER]:
            where = f"{more[0]} {wanted[more[0]]}"
            raise Invalid(
                f"your variables or settings say where your memories are ({where}), and a project's file is for all who "
                "work on it",
                hint=f"For everyone: `memory {where} setup AGENT --project`. Only for you: leave out --project.",
            )
        wanted = dict(flags)
    wanted |= {flag: str(environment.absolute(wanted[flag])) for flag in (HOME, CONFIG) if flag in wanted}
    return {flag: wanted[flag] for flag in OPTIONS if flag in wanted}


def _settings(wanted: Mapping[str, str], environment: Environment) -> Config | None:
    """The settings in force; None where they cannot be used, as the agent will say."""
    with suppress(ConfigError):
        return load(wanted.get(CONFIG), env=environment.env, flags={"home": wanted.get(HOME)})
    return None


def _of_platform(environment: Environment, wanted: Mapping[str, str], settings: Config | None) -> dict[str, str]:
    """The folder that $XDG_DATA_HOME makes the usual one, where nothing else names a folder."""
    data = environment.env.get(_DATA, "")
    usual = os.path.normpath(data) == str(environment.home / ".local" / "share")
    if not Path(data).is_absolute() or usual or environment.platform in ("win32", "darwin") or HOME in wanted:
        return {}
    folder = Path(data) / "memory"
    if settings is None or "home" not in settings.origins:
        return {HOME: str(folder)}
    return {} if CONFIG in wanted else {CONFIG: str(folder / "config.yaml")}


def _whole(url: str, env: Mapping[str, str]) -> str:
    """
    A URL with all that variables of PostgreSQL add to it.

    Raises:
        Invalid: It has a password, or no agent can have what a variable says.
    """
    try:
        safe = without_password(url)
    except ValueError as error:
        raise Invalid(f"MEMORY_STORE_URL: {error}") from error
    if safe != url:
        raise Invalid("the URL of the database has a password, and no agent's file may hold one", hint=ELSEWHERE)
    for name, hint in (("PGPASSWORD", ELSEWHERE), ("PGSERVICEFILE", "Put the service into ~/.pg_service.conf.")):
        if env.get(name):
            raise Invalid(f"{name} is set here, but not for an agent", hint=f"{hint} Then unset {name}.")
    said = _said(url)
    more = {option: env[name] for name, option in (_SERVER | _WAY).items() if env.get(name) and option not in said}
    if "service" in said | more.keys() and (beside := [name for name in _SERVER if _SERVER[name] in more]):
        hint = f"Write it into the URL, or unset {beside[0]}."
        raise Invalid(f"{beside[0]} is set beside a service file, which says the same", hint=hint)
    options = "&".join(f"{option}={quote(value, safe='')}" for option, value in more.items())
    return f"{url}{'&' if '?' in url else '?'}{options}" if options else url


def _said(url: str) -> set[str]:
    """The options that a URL says, in whichever of its parts."""
    place, _, options = url.partition("://")[2].partition("?")
    servers, _, database = place.partition("/")
    user, _, hosts = servers.rpartition("@")
    ports = re.search(r":\d+(,|$)", hosts)
    found = {"user": user, "host": hosts and hosts[0] != ":", "port": ports, "dbname": database}
    return {name for name, said in found.items() if said} | {one.partition("=")[0] for one in options.split("&")}
