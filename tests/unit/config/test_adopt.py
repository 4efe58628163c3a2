"""What becomes of the settings files of other programs."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, strategies as st

from memory.config import Config, keys, load, value, with_setting
from memory.config.adopt import OLLAMA, RENAMED, WIDTHS, Secret, adoption, beside
from memory.config.files import SETTINGS_BYTES
from memory.schema.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

GRAPH = {
    "embeddings": {
        "provider": "sentence-transformers",
        "model": "all-MiniLM-L6-v2",
        "auto_generate": True,
        "batch_size": 32,
    },
    "vector_search": {"default_threshold": 0.5, "default_k": 10, "hybrid_weight": 0.5},
}
"""As it is printed."""


@pytest.fixture
def put(tmp_path: Path):
    def put(name: str, content: object) -> str:
        text = content if isinstance(content, str) else json.dumps(content)
        (tmp_path / name).write_text(text)
        return str(tmp_path / name)

    return put


def settings(found) -> dict[str, object]:
    return {one.key: one.value for one in found.changes}


def test_e23_e24_every_printed_key_of_config_json_is_a_setting(put) -> None:
    found = adoption(put("config.json", GRAPH), Config())

    taken = settings(found)
    assert float(taken.pop("graph.threshold")) == 0.5
    assert taken == {
        "embedding.provider": "sentence-transformers",
        "embedding.model": "all-MiniLM-L6-v2",
        "embedding.fill": "auto",
        "embedding.batch_size": 32,
        "graph.limit": 10,
        "graph.vector_weight": 0.5,
    }
    assert (found.unknown, found.secrets) == ((), ())
    assert "graph.threshold is a cosine" in found.notices[0].text
    assert all(value(found.config, one.key) == one.value for one in found.changes)


@pytest.mark.parametrize("text", ["export_memories = true", "[config]\nexport_memories = true"])
def test_c40_config_toml_has_a_run_exported(put, text) -> None:
    found = adoption(put("config.toml", text), Config())

    (change,) = found.changes
    assert (change.key, change.value, change.before) == ("research.export_memories", True, False)
    assert found.config.research.export_memories is True


def test_a_yaml_of_our_own_names_is_taken_as_it_is(put) -> None:
    text = "embedding:\n  provider: ollama\n  base_url: http://box:11434\ncontext:\n  semantic: never\n  topup_recent: no\n"

    assert settings(adoption(put("other.yaml", text), Config())) == {
        "embedding.provider": "ollama",
        "embedding.base_url": "http://box:11434",
        "context.semantic": "never",
        "context.topup_recent": False,
    }


def test_the_model_of_ollama_brings_its_provider(put) -> None:
    text = '[ollama]\nhost = "http://localhost:11434"\nmodel = "llama2"\nembedding_model = "nomic-embed-text"\n'
    found = adoption(put("config.toml", text), Config())

    assert settings(found) == {
        "embedding.base_url": "http://localhost:11434",
        "embedding.provider": "ollama",
        "embedding.model": "nomic-embed-text",
    }
    assert [key for key, _ in found.unknown] == ["ollama.model"]


@pytest.mark.parametrize(
    ("key", "near"),
    [
        ("vector_search.default_limit", "graph.limit"),
        ("vector_search.default_threshhold", "graph.threshold"),
        ("search.limits", "search.limit"),
        ("colour", ""),
    ],
)
def test_an_unknown_key_is_named_with_the_nearest_of_ours(put, key, near) -> None:
    section, _, name = key.rpartition(".")
    found = adoption(put("config.json", {section: {name: 3}} if section else {name: 3}), Config())

    assert (found.unknown, found.changes) == (((key, near),), ())


@pytest.mark.parametrize(
    "name", ["api_key", "apiKey", "apikey", "APIKey", "OPENAI_API_KEY", "auth_token", "password", "client-secret"]
)
def test_a_secret_is_never_taken_over(put, name) -> None:
    found = adoption(put("config.json", {"embeddings": {"model": "m", name: "sk-walnut"}}), Config())

    assert found.secrets == (Secret(f"embeddings.{name}"),)
    assert settings(found) == {"embedding.model": "m"}
    assert "walnut" not in repr(found)


@pytest.mark.parametrize("name", ["hotkey", "monkey", "keys", "max_tokens", "secretary", "password_length"])
def test_a_name_that_only_ends_like_one_is_no_secret(put, name) -> None:
    found = adoption(put("config.json", {"embeddings": {name: 3}}), Config())

    assert (found.secrets, [key for key, _ in found.unknown]) == ((), [f"embeddings.{name}"])


@pytest.mark.parametrize("provider", ["openai", "local"])
def test_what_is_said_of_ollama_holds_for_no_other_provider(put, provider) -> None:
    theirs = {"host": "http://localhost:11434", "embedding_dimensions": 768}
    found = adoption(put("config.json", {"embedding": {"provider": provider}, "ollama": theirs}), Config())

    assert settings(found) == {"embedding.provider": provider}
    assert [one.text for one in found.notices] == [
        f"{key} is not imported, since the provider is {provider}" for key in OLLAMA
    ]
    assert (found.config.embedding.base_url, found.expected, found.unknown) == ("", False, ())


def test_a_width_is_checked_and_no_setting_requests_it(put) -> None:
    found = adoption(put("config.json", {"embeddings": {"model": "m", "dimensions": 384}}), Config())

    assert settings(found) == {"embedding.model": "m"}
    assert (found.config.embedding.expected_dimension, found.config.embedding.dimensions) == (384, 0)
    assert "embeddings.dimensions is only checked by this import" in found.notices[0].text


@pytest.mark.parametrize(
    "address",
    [
        "http://u:sk-walnut@127.0.0.1:9",
        "u:sk-walnut@box",
        "http://sk-walnut@box/v1",
        "http://u:sk/walnut@box",
        "http://box/v1?api_key=walnut",
    ],
)
@pytest.mark.parametrize(
    ("key", "setting"),
    [
        ("ollama.host", "embedding.base_url"),
        ("embedding.base_url", "embedding.base_url"),
    ],
)
def test_an_address_with_a_password_is_never_taken_over(put, key, setting, address) -> None:
    section, _, name = key.partition(".")
    before = with_setting(Config(), "embedding.provider", "ollama", "")
    found = adoption(put("config.json", {"embeddings": {"model": "m"}, section: {name: address}}), before)

    assert found.secrets == (Secret(key, setting),)
    assert settings(found) == {"embedding.model": "m"}
    assert "walnut" not in repr(found)
    assert value(load(os.devnull, env={found.secrets[0].variable(found.config): address}), setting) == address


def test_an_address_in_another_setting_is_not_taken_over_either(put) -> None:
    found = adoption(put("config.json", {"embeddings": {"model": "http://u:walnut@box", "batch_size": 3}}), Config())

    assert found.secrets == (Secret("embeddings.model", "embedding.model"),)
    assert settings(found) == {"embedding.batch_size": 3}


def test_an_at_sign_in_the_name_of_a_model_is_no_secret(put) -> None:
    found = adoption(put("config.json", {"embeddings": {"model": "walnut@v2"}}), Config())

    assert (settings(found), found.secrets) == ({"embedding.model": "walnut@v2"}, ())


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("config.json", "{", "is not JSON"),
        ("config.json", "[" * 100_000, "is not JSON"),
        ("config.json", "[1]", "expected settings"),
        ("config.toml", "a = ", "is not TOML"),
        ("config.toml", "[a]\nb = 1\nb = 2", "is not TOML"),
        ("config.yaml", "a: [", "is not YAML"),
        ("config.ini", "[a]", "read from .json, .toml and .yaml"),
        ("config.json", " " * (SETTINGS_BYTES + 1), "the limit"),
        ("config.json", '{"embeddings": {"batch_size": "many"}}', "embeddings.batch_size: embedding.batch_size"),
        ("config.json", '{"embeddings": {"auto_generate": "often"}}', "neither true nor false"),
        ("config.json", '{"embeddings": {"model": ["a"]}}', "embeddings.model holds a list"),
        ("config.json", '{"export_memories": true, "config": {"export_memories": false}}', "both say"),
    ],
)
def test_what_cannot_be_taken_over_is_refused_with_the_place(put, name, content, said) -> None:
    with pytest.raises(ConfigError, match=said):
        adoption(put(name, content), Config())


def test_a_key_of_very_many_parts_is_read_at_once_and_is_no_setting(put) -> None:
    found = adoption(put("config.toml", f"{'a.' * 90}b = 1\n{'a.' * 90}c = 1\n"), Config())

    assert (settings(found), [key for key, _ in found.unknown]) == ({}, ["a.a"])


@pytest.mark.parametrize("name", [".", "/dev/zero", "missing.json"])
def test_only_an_ordinary_file_is_read(tmp_path, name) -> None:
    with pytest.raises(ConfigError):
        adoption(str(tmp_path / name), Config())


NAMES = st.sampled_from([*RENAMED, *WIDTHS, *keys(), "api_key", "embeddings.api_key", "a.b", "colour", "search"])
WORDS = st.sampled_from(["", "local", "ollama", "auto", "3", "true", "n\u00fc"])
SCALARS = st.none() | st.booleans() | st.integers(-3, 2000) | st.floats(0, 1) | WORDS


@given(said=st.dictionaries(NAMES, SCALARS, max_size=6))
def test_every_key_is_a_setting_a_secret_or_unknown(said, tmp_path_factory) -> None:
    """Or the file is refused; either way the settings that were there stay what they were."""
    nested: dict[str, object] = {}
    for key, given_value in said.items():
        section, _, name = key.rpartition(".")
        if not section:
            nested.setdefault(name, given_value)
        elif isinstance(nested.setdefault(section, {}), dict):
            nested[section][name] = given_value
    flat = {
        f"{name}.{inner}" if isinstance(held, dict) else name: deeper
        for name, held in nested.items()
        for inner, deeper in (held.items() if isinstance(held, dict) else [("", held)])
    }
    file = tmp_path_factory.mktemp("settings") / "config.json"
    file.write_text(json.dumps(nested))
    before = Config()

    try:
        found = adoption(str(file), before)
    except ConfigError:
        return  # which places it names is tested above

    named = (
        {one.named for one in found.changes},
        {one.named for one in found.secrets},
        {key for key, _ in found.unknown},
        {one.text.partition(" ")[0] for one in found.notices} & {*OLLAMA, *WIDTHS},
    )
    assert set.union(*named) == {key for key, held in flat.items() if held is not None}
    assert sum(map(len, named)) == len(set.union(*named))
    assert len({one.key for one in found.changes}) == len(found.changes)
    assert all(near in ("", *keys()) for _, near in found.unknown)
    assert before == Config()


def test_x55_files_beside_config_yaml_that_say_something_else_are_mentioned(put, tmp_path) -> None:
    assert list(beside(str(tmp_path), Config())) == []
    put("config.json", GRAPH)
    put("config.toml", "export_memories = true")

    found = list(beside(str(tmp_path), Config()))

    assert [("config.json" in one.text, "config.toml" in one.text) for one in found] == [(True, False), (False, True)]
    assert all("memory config import" in one.hint for one in found)
    taken = adoption(str(tmp_path / "config.toml"), adoption(str(tmp_path / "config.json"), Config()).config).config
    assert list(beside(str(tmp_path), taken)) == []


def test_x55_what_the_environment_overrules_is_not_mentioned_for_ever(put, tmp_path) -> None:
    put("config.json", {"embeddings": {"provider": "ollama"}})
    config = load(os.devnull, env={"MEMGRAPH_EMBEDDING_PROVIDER": "hashed"})

    assert list(beside(str(tmp_path), config)) == []


def test_x55_a_file_that_cannot_be_read_is_mentioned_with_the_reason(put, tmp_path) -> None:
    put("config.json", "{")

    (notice,) = beside(str(tmp_path), Config())

    assert "is not JSON" in notice.text


def test_e25_the_documented_variables_choose_the_model(tmp_path) -> None:
    env = {
        "MEMORY_HOME": str(tmp_path),
        "MEMGRAPH_EMBEDDING_PROVIDER": "sentence-transformers",
        "MEMGRAPH_EMBEDDING_MODEL": "all-MiniLM-L6-v2",
    }
    found = load(env=env)

    assert (found.embedding.provider, found.embedding.model) == ("sentence-transformers", "all-MiniLM-L6-v2")
    assert found.origins["embedding.model"] == "$MEMGRAPH_EMBEDDING_MODEL"
    assert load(env=env | {"MEMORY_EMBEDDING_MODEL": "m"}).embedding.model == "m"
    assert found.embedding.openai_key_env == "OPENAI_API_KEY"
