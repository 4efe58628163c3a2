"""
Write src/memory/search/words.z: words that are spelled right, so that a search takes none of them for a typing error.

    apt-get download wamerican-large wbritish; dpkg -x each of them FOLDER
    .venv/bin/python scripts/right_words.py FOLDER/usr/share/dict

They are SCOWL's American and British words (Kevin Atkinson, as Debian packs them), the whole words of BERT's vocabulary,
which the local model brings, and those of software.txt. Another release gives slightly other words: the file counts, not
this. A line a first letter; of each word how many letters it shares with the one before, as a capital from A for none,
and its other letters.
"""

from __future__ import annotations

import sys
from itertools import groupby
from pathlib import Path
from string import ascii_lowercase
from zlib import compress

from memory.search.corrections import LISTED, SHORTEST
from memory.text.lookup import spelled
from memory.vectors.local import model_folder
from memory.vectors.local.wordpiece import vocabulary
from memory.vectors.words import SOFTWARE

LISTS = ("american-english-large", "british-english")

NAMED = """
    adyen airbyte airtable alembic algolia angular apollo argocd args asana astro async athena auth axios azure babel bash
    bazel bitbucket boto bull caddy canva cassandra celery ceph chroma cilium circleci clerk clickhouse cloudflare
    cloudfront cloudwatch cmake cname cockroachdb codecov cond conda consul crontab cypress dagster datadog dayjs dbt debian
    deno devops discord django docusaurus dotenv drizzle duckdb dynamodb elasticache elasticsearch electron elixir envoy
    esbuild eslint etcd exif expo faiss fargate fastlane figma firestore flask flink flutter fluxcd formik freq gitea guid
    grafana gunicorn haproxy hasura hetzner hibernate hist httpx ingress influxdb istio jaeger jira junit kafka keycloak
    kibana knex kotlin kubectl kubernetes langchain launchdarkly leveldb linkerd loki lodash logrocket mailchimp mailgun
    mariadb meilisearch memcached milvus minio mixin mixpanel mlflow mocha monorepo mutex mypy nats nestjs netlify newrelic
    nginx nomad notion nuxt oauth okta openapi openai opensearch opentelemetry packer pagerduty paypal pgbouncer phoenix
    pinecone playwright plotly pnpm podman postgis postgres postgresql postman prefect prettier prisma prometheus protobuf
    pulumi puppeteer pydantic pytest pytorch qdrant quarkus rabbitmq react redash redis redpanda redshift redux regex repo
    rocksdb rollbar ruff rustup saml sass segment selenium sendgrid sentry sequelize shopify sidekiq slack snowflake solr
    sonarqube splunk sqlalchemy sqlite statsd storybook stripe strapi supabase svelte swagger systemd tailwind tauri
    temporal terraform thanos timescaledb todo traefik trello turborepo twilio typeorm typesense ubuntu univ uvicorn vagrant
    varnish vercel vite vitest vue waitlist weaviate webhook webpack websocket wireguard wordpress yarn yjs zapier zendesk
    zod zookeeper zustand
""".split()
"""Names and abbreviations of software that the other lists lack."""

SHARED = 25
"""Letters at most that a word shares with the one before, as there are so many capitals."""


def words(folder: Path) -> set[str]:
    model = model_folder()
    if model is None:
        raise SystemExit("The local model is not installed: its vocabulary is a part of the list.")
    texts = [(folder / name).read_text("utf-8").replace("'s\n", "\n") for name in LISTS]
    texts += NAMED + [piece for piece in vocabulary(model) if piece.isalpha()] + [SOFTWARE.read_text("utf-8")]
    found = {word for text in texts for word in spelled(text)}
    return {word for word in found if word.isascii() and word.isalpha() and len(word) >= SHORTEST}


def alike(one: str, other: str) -> int:
    """How many letters two words begin with, as far as there are capitals."""
    return next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b or n == SHARED), len(one))


def coded(found: set[str]) -> str:
    lines = dict.fromkeys(ascii_lowercase, "")
    for letter, group in groupby(sorted(found), key=lambda word: word[0]):
        own = [*group]
        shared = [alike(*pair) for pair in zip(["", *own], own, strict=False)]
        lines[letter] = " ".join(chr(ord("A") + count) + word[count:] for count, word in zip(shared, own, strict=True))
    return "\n".join(lines.values())


if __name__ == "__main__":
    found = words(Path(sys.argv[1]))
    LISTED.write_bytes(compress(coded(found).encode("ascii"), 9))
    print(f"{len(found):,} words, {LISTED.stat().st_size:,} bytes")
