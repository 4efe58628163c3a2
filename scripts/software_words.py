"""
Print the words of software that BERT's vocabulary lacks, for src/memory/vectors/software.txt.

    .venv/bin/python scripts/software_words.py > src/memory/vectors/software.txt

They are the parts of names that many modules of Python's standard library use, and names of tools, formats and
services that notes about software speak of. Another Python gives slightly other words: the file counts, not this.
"""

from __future__ import annotations

import io
import sysconfig
import tokenize
from collections import Counter
from pathlib import Path

from memory.text.lookup import stem
from memory.text.terms import STOP, split
from memory.vectors.local import model_folder
from memory.vectors.local.wordpiece import vocabulary

MODULES = 5
"""Of how many modules names have a part in common that is a word."""

LONGEST = 14
"""Letters. Longer ones are several words written as one."""

APART = {"test", "tests", "idlelib", "encodings", "lib2to3", "site-packages", "turtledemo"}

NAMED = """
    airflow ansible apache argparse asyncio auth aws azure babel backend backfill bash benchmark bigquery boolean cassandra
    celery changelog checksum cli clickhouse codebase commit config cron css csv cuda curl dataframe dataset datetime
    deadlock debian debug decorator dedupe deploy deployment deserialize devops diff django dns docker dockerfile
    elasticsearch endpoint enum env eslint etl fastapi filesystem firebase flask frontend gcp git github gitlab golang
    gradle grafana graphql grpc gunicorn gzip hadoop hash haskell helm heroku hostname html http https idempotent
    iframe inode ip javascript jenkins jinja jira jpeg json jupyter jwt kafka kotlin kubectl kubernetes kwargs lambda
    latency linter linux localhost localstorage login logging macos makefile malloc mariadb markdown matplotlib maven
    memcached metadata microservice middleware mongodb monorepo mutex mypy mysql namespace netty nginx nodejs npm
    numpy oauth openapi opencv openssl orm pandas parquet parser payload php pip plugin pnpm podman poetry polars
    postgres postgresql powershell prometheus protobuf pydantic pytest python pytorch queryset rabbitmq react readme
    rebase redis redux refactor regex repo rollback rollout rsync ruby runtime rust sass scala schema scipy sdk
    selenium semaphore sentry serializer sharding shellcheck sklearn slack socket sonarqube spark splunk sql sqlalchemy
    sqlite ssh ssl stackoverflow stderr stdin stdout subprocess sudo svelte swagger swift symlink sync syslog systemd
    tailwind tensorflow terraform timestamp timezone tls toml tomcat traceback typescript ubuntu ui unicode unittest
    upsert uri url utf uuid valgrind vite vscode webhook webpack websocket whitespace winsock workflow xml xpath yaml
    zookeeper zsh
"""


def names(module: Path) -> set[str]:
    """The parts of the names in a module, in small letters."""
    tokens = tokenize.tokenize(io.BytesIO(module.read_bytes()).readline)
    found = {token.string for token in tokens if token.type == tokenize.NAME}
    return {part.lower() for name in found for part in split(name)}


def main() -> None:
    counts: Counter[str] = Counter()
    for module in sorted(Path(sysconfig.get_paths()["stdlib"]).rglob("*.py")):
        if not APART.intersection(module.parts):
            counts.update(names(module))
    common = [word for word, count in counts.items() if count >= MODULES and 1 < len(word) <= LONGEST]
    folder = model_folder()
    if folder is None:
        raise SystemExit("the local model is not installed")
    listed = {stem(word) for word in vocabulary(folder) if word.isalpha()}
    found: dict[str, str] = {}
    for word in sorted({*common, *NAMED.split()}):
        if word.isalpha() and word.isascii() and word not in STOP and stem(word) not in listed:
            found.setdefault(stem(word), word)
    print("\n".join(found.values()))


if __name__ == "__main__":
    main()
