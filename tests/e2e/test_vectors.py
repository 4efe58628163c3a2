"""The life of vectors as a person meets it: another model, a dead server, a rollback, a bill."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import textwrap
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from command import Shell
from provider import Provider
from sound import sound

from faults import HalfBody, Hang, NotANumber, Refuses, Status, WrongWidth
from memory import Engine
from memory.config import load
from memory.config.settings import FORMER, EmbeddingSettings
from memory.tools import upkeep

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from faults import Fault

QUESTION = "zebra crossings anywhere"  # no memory holds any of its words: keywords are not enough


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("vectors")
    shell = Plain(folder / "home", folder)
    shell("init")
    shell("config", "set", "embedding.provider", "hashed")
    for title in ("Postgres pool raised", "Switched to JWT", "Retries with jitter"):
        shell("save", title, "--what", f"{title} since Monday")
    return shell.home


@pytest.fixture
def shell(tmp_path: Path, written: Path):
    """Settings come from config.yaml alone; three memories, embedded by `hashed`."""
    shell = Plain(tmp_path / "home", tmp_path)
    shutil.copytree(written, shell.home)
    yield shell
    sound(shell.home / "memory.db")


class Plain(Shell):
    """A shell whose environment says nothing about the model but what a test sets."""

    @property
    def env(self) -> dict[str, str]:
        model = ("MEMORY_EMBEDDING_PROVIDER", "MEMORY_EMBEDDING_MODEL")
        return {name: said for name, said in super().env.items() if name not in model} | self.settings


def to(shell: Shell, provider: Provider, *more: str):
    """Change to Ollama."""
    return shell("config", "set", "embedding.provider", "ollama", "embedding.base_url", provider.url, *more)


def searched(shell: Shell, *more: str):
    return shell("search", QUESTION, "--json", *more).json


def spaces(shell: Shell) -> dict[str, str]:
    """State by model."""
    return {found["model"]: found["state"] for found in shell("status", "--json").json["generations"]}


# Changing the model -----------------------------------------------------------------


def test_setting_a_provider_asks_it_and_says_what_to_do_next(shell: Shell, provider: Provider) -> None:
    ran = to(shell, provider)

    assert "ollama:nomic-embed-text answers, 768 dimensions" in ran.out
    assert "memory reindex  (3 chunks, 140 texts in all, about" in ran.out
    assert shell("config", "embedding.provider").out.split()[:2] == ["embedding.provider", "ollama"]


def test_a_provider_that_cannot_be_used_is_not_set(shell: Shell, provider: Provider) -> None:
    before = (shell.home / "config.yaml").read_bytes()
    provider.down()

    ran = shell("config", "set", "embedding.provider", "ollama", "embedding.base_url", provider.url, code=1)

    assert "does not answer" in ran.err
    assert "--no-check" in ran.err
    assert (shell.home / "config.yaml").read_bytes() == before
    shell("config", "set", "embedding.provider", "ollama", "embedding.base_url", provider.url, "--no-check")
    assert "ollama" in shell("config", "embedding.provider").out


def test_a_former_setting_is_named_once_and_what_holds_in_its_place(shell: Shell) -> None:
    (shell.home / "config.yaml").write_text("embedding:\n  retries: 9\n", encoding="utf-8")

    ran = shell("search", "postgres")

    assert "Postgres" in ran.out
    said = f"memory: {shell.home}/config.yaml: no setting 'embedding.retries'. A request that may yet succeed is made"
    assert ran.err.count(said) == ran.err.count("retries") == 1
    for command in (["set", "embedding.retries", "3"], ["embedding.retries"]):
        assert "A request that may yet succeed" in shell("config", *command, code=2).err
    told = shell("config", "import", str(shell.home / "config.yaml"), "--dry-run").err
    assert "embedding.retries is not a setting any more: A request that" in told
    ran = shell("status", "--json")
    with Engine.open(load(env={"MEMORY_HOME": str(shell.home)})) as engine:
        assert upkeep.status(engine.status(), "")["problems"] == ran.json["problems"]  # as the MCP server says it
    assert [one["text"] for one in ran.json["problems"]].count(said.partition(". ")[0].removeprefix("memory: ")) == 1
    assert ran.err.count("retries") == 1


@pytest.mark.parametrize("key", FORMER)
def test_a_former_setting_stops_no_command_and_is_taken_out_by_one(shell: Shell, key: str) -> None:
    file, (section, _, name) = shell.home / "config.yaml", key.partition(".")
    file.write_text(f"# mine\n{section}:\n  {name}: 0.71\n", encoding="utf-8")

    assert key in shell("config", "search.limit").err
    assert f"{key} is not in the file any more" in shell("config", "unset", key).out

    assert "0.71" not in file.read_text(encoding="utf-8")
    assert "# mine" in file.read_text(encoding="utf-8")
    assert key not in shell("config", "search.limit").err


def test_an_import_leaves_the_address_of_ollama_out_of_another_provider(shell: Shell) -> None:
    (shell.folder / "theirs.json").write_text(
        '{"embedding": {"provider": "openai"}, "ollama": {"host": "http://127.0.0.1:9"}}', encoding="utf-8"
    )

    ran = shell("config", "import", shell.folder / "theirs.json", "--no-check")

    assert "ollama.host is not imported, since the provider is openai" in ran.err
    assert "127.0.0.1:9" not in (shell.home / "config.yaml").read_text(encoding="utf-8")


def test_an_import_refuses_a_model_of_another_width_and_keeps_no_width(shell: Shell, provider: Provider) -> None:
    address, before = {"ollama": {"host": provider.url}}, (shell.home / "config.yaml").read_bytes()

    refused = shell("config", "import", foreign(shell, more=address, dimensions=768), code=1)
    assert "all-minilm gives 384 dimensions; 768 are expected" in refused.err
    assert (shell.home / "config.yaml").read_bytes() == before
    ran = shell("config", "import", foreign(shell, more=address, dimensions=384))

    assert "embeddings.dimensions is only checked by this import" in ran.err
    assert shell("config", "embedding.dimensions").out.split()[:2] == ["embedding.dimensions", "0"]
    assert not any(seen.body.get("dimensions") for seen in provider.seen if "embed" in seen.path)


def test_a_new_provider_does_not_keep_the_server_of_the_former_one(shell: Shell, provider: Provider) -> None:
    for former in ("openai", "local"):
        (shell.home / "config.yaml").write_text(
            f"embedding:\n  provider: {former}\n  base_url: {provider.url}/v1\n", encoding="utf-8"
        )

        assert 'embedding.base_url = ""' in shell("config", "set", "embedding.provider", "hashed").out


def test_a_new_provider_is_asked_where_a_former_setting_says(shell: Shell, provider: Provider) -> None:
    (shell.home / "config.yaml").write_text(
        f"embedding:\n  provider: hashed\n  openai_base_url: {provider.url}/v1\n", encoding="utf-8"
    )

    provider.key = None

    ran = shell("config", "set", "embedding.provider", "openai")

    assert "openai:text-embedding-3-small answers, 1536 dimensions" in ran.out
    assert {seen.path for seen in provider.seen} == {"/v1/embeddings"}


def test_nobody_is_promised_the_vectors_of_a_server_that_is_not_asked(shell: Shell, provider: Provider) -> None:
    to(shell, provider)
    shell("reindex")

    ran = shell("config", "set", "embedding.provider", "hashed")

    assert "until it is done, searches use keywords" in ran.out
    assert "former vectors" not in ran.out


def test_the_model_of_another_provider_is_not_taken_over(shell: Shell, provider: Provider) -> None:
    shell("config", "set", "embedding.model", "hashed-32")

    ran = to(shell, provider)

    assert 'embedding.model = ""' in ran.out


FOREIGN = {
    "embeddings": {"provider": "ollama", "model": "all-minilm", "api_key": "sk-walnut", "batch_size": 16},
    "vector_search": {"default_k": 7, "colour": "red"},
}
"""The settings of another program, with a secret and a key that nobody knows."""


def foreign(
    shell: Shell, name: str = "theirs.json", more: Mapping[str, object] | None = None, **embeddings: object
) -> Path:
    file = shell.folder / name
    file.write_text(json.dumps(FOREIGN | {"embeddings": FOREIGN["embeddings"] | embeddings} | (more or {})))
    return file


def test_settings_of_another_program_are_taken_over_and_comments_stay(shell: Shell, provider: Provider) -> None:
    config = shell.home / "config.yaml"
    config.write_text("# mine\ngraph:\n  limit: 3  # few\n")

    ran = shell("config", "import", foreign(shell, more={"ollama": {"host": provider.url}}))

    text = config.read_text()
    assert "# mine\n" in text
    assert "  limit: 7  # few\n" in text
    assert "graph.limit = 7  (was 3)  # vector_search.default_k" in ran.out
    assert "ollama:all-minilm answers, 384 dimensions" in ran.out
    assert (
        "embeddings.api_key is not imported, since no secret is written to a file: $OPENAI_API_KEY is where the key"
        in ran.err
    )
    assert "vector_search.colour is not a setting here" in ran.err
    assert "walnut" not in text + ran.out + ran.err
    assert shell("config", "embedding.batch_size").out.split()[:2] == ["embedding.batch_size", "16"]


def test_an_address_with_a_password_is_neither_printed_nor_written(shell: Shell) -> None:
    file = shell.folder / "theirs.json"
    file.write_text(
        json.dumps({"ollama": {"host": "http://u:Zq7xKp3mWv@127.0.0.1:9"}, "vector_search": {"default_k": 7}})
    )

    shell("config", "set", "embedding.provider", "ollama", "--no-check")

    ran = shell("config", "import", file)

    assert "graph.limit = 7" in ran.out
    assert "ollama.host is not imported, since no secret is written to a file: $MEMORY_EMBEDDING_BASE_URL is" in ran.err
    found = shell("config", "import", file, "--json").json
    assert found["secrets"] == [{"named": "ollama.host", "variable": "MEMORY_EMBEDDING_BASE_URL"}]
    file.write_text(json.dumps({"ollama": {"host": "http://u:Zq7xKp3mWv@127.0.0.1:9"}}))
    assert "nothing was changed: it has no setting to import" in shell("config", "import", file).err
    assert "Zq7xKp3mWv" not in ran.out + ran.err + json.dumps(found) + (shell.home / "config.yaml").read_text()


def test_a_dry_run_says_the_same_as_json_and_changes_nothing(shell: Shell, provider: Provider) -> None:
    provider.down()
    before = (shell.home / "config.yaml").read_bytes()

    found = shell("config", "import", foreign(shell), "--dry-run", "--json").json

    assert (found["dry_run"], found["file"]) == (True, str(shell.home / "config.yaml"))
    assert {row["key"]: (row["value"], row["before"]) for row in found["settings"]} == {
        "embedding.provider": ("ollama", "hashed"),
        "embedding.model": ("all-minilm", ""),
        "embedding.batch_size": (16, 32),
        "graph.limit": (7, 10),
    }
    assert found["secrets"] == [{"named": "embeddings.api_key", "variable": "OPENAI_API_KEY"}]
    assert found["unknown"] == [{"named": "vector_search.colour", "nearest": None}]
    assert (shell.home / "config.yaml").read_bytes() == before


def test_a_file_with_one_value_that_cannot_be_taken_over_changes_nothing(shell: Shell, provider: Provider) -> None:
    before = (shell.home / "config.yaml").read_bytes()

    wrong = shell("config", "import", foreign(shell, batch_size="many"), code=2)
    provider.down()
    dead = shell("config", "import", foreign(shell, "other.json"), code=1)

    assert "embeddings.batch_size: embedding.batch_size: expected a whole number" in wrong.err
    assert "--no-check" in dead.err
    assert (shell.home / "config.yaml").read_bytes() == before


def test_a_foreign_file_beside_ours_is_mentioned_where_settings_are_looked_at(shell: Shell) -> None:
    (shell.home / "config.toml").write_text("export_memories = true\n")

    for command in (["config"], ["config", "search"], ["status"]):
        assert "config.toml is not read: config.yaml is" in shell(*command).err
    assert "config.toml" in shell("config", "--json").json["notices"][0]["text"]
    assert any("config.toml" in one["text"] for one in shell("status", "--json").json["problems"])
    assert "config.toml" not in shell("search", "anything").err

    shell("config", "import", shell.home / "config.toml")
    assert "config.toml" not in shell("config").err + shell("status").err


def test_after_a_change_searches_go_by_keyword_and_say_so_until_the_reindex(shell: Shell, provider: Provider) -> None:
    to(shell, provider)

    answer = searched(shell)
    assert answer["tier"] == "keyword"
    assert "memory reindex" in answer["notices"][0]["hint"]
    assert "hashed:hashed-256" in answer["notices"][0]["text"]
    forced = shell("search", QUESTION, "--mode", "hybrid", "--json", code=1).error
    assert forced["error"] == "SpaceMismatch"

    shell("reindex")

    answer = searched(shell)
    assert answer["tier"] == "hybrid"
    assert len(answer["hits"]) == 3


def test_a_dry_run_says_what_it_would_take_and_changes_and_sends_nothing(shell: Shell, provider: Provider) -> None:
    to(shell, provider)
    provider.seen.clear()
    before = spaces(shell)

    plan = shell("reindex", "--dry-run", "--json").json

    assert (plan["model"], plan["before"]) == ("ollama:nomic-embed-text", "hashed:hashed-256")
    assert plan["chunks"] == 3
    assert 3 <= plan["tokens"] <= 2_000  # with the strangers
    assert (provider.seen, spaces(shell)) == ([], before)
    shell("reindex")
    assert shell("reindex", "--dry-run", "--json").json["chunks"] == 0


def test_a_dry_run_for_a_model_with_a_price_says_the_cost(shell: Shell, provider: Provider) -> None:
    shell.settings["OPENAI_API_KEY"] = "sk-test"
    shell("config", "set", "embedding.provider", "openai", "embedding.base_url", f"{provider.url}/v1")

    plan = shell("reindex", "--dry-run", "--json").json

    assert plan["cost"] == pytest.approx(plan["tokens"] * 0.02 / 1_000_000)
    shell("reindex")
    assert sum(line["cost"] for line in shell("ledger", "--json").json["lines"]) > 0
    assert "sk-test" not in shell("config").out + (shell.home / "config.yaml").read_text()


def test_a_rollback_lets_the_former_model_answer_and_going_forward_again_embeds_nothing(
    shell: Shell, provider: Provider
) -> None:
    to(shell, provider)
    shell("reindex")
    shell("save", "Saved since")

    ran = shell("reindex", "--rollback")

    assert "memory config set embedding.provider hashed" in ran.out
    assert "1 chunk" in ran.out
    provider.down()  # the old one answers without it, though the settings name it
    answer = searched(shell, "--mode", "hybrid")
    assert len(answer["hits"]) == 4
    assert spaces(shell) == {"hashed-256": "active", "nomic-embed-text": "building"}
    provider.up()
    assert shell("reindex", "--json").json["embedded"] <= 1
    assert spaces(shell) == {"hashed-256": "retired", "nomic-embed-text": "active"}


def test_a_rollback_needs_something_to_go_back_to(shell: Shell) -> None:
    assert "no vectors of an earlier model" in shell("reindex", "--rollback", code=1).err


def test_earlier_vectors_are_kept_until_the_next_reindex_or_for_good_with_keep(shell: Shell) -> None:
    def change(width: int, *more: str) -> dict[str, str]:
        shell("config", "set", "embedding.model", f"hashed-{width}")
        shell("reindex", *more)
        return spaces(shell)

    assert change(64) == {"hashed-256": "retired", "hashed-64": "active"}
    assert change(32, "--keep") == {"hashed-256": "retired", "hashed-64": "retired", "hashed-32": "active"}
    assert change(16) == {"hashed-32": "retired", "hashed-16": "active"}


def test_a_second_reindex_to_the_same_model_keeps_the_way_back(shell: Shell, provider: Provider) -> None:
    to(shell, provider)
    shell("reindex")
    shell("reindex")

    assert "hashed:hashed-256" in shell("reindex", "--rollback").out


def test_a_reindex_is_not_done_by_the_second_server(
    shell: Shell, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(EmbeddingSettings, "retries", 0)
    with Provider() as second:
        second.weights["nomic-embed-text"] = "another"
        to(shell, provider, "embedding.base_url", f"{provider.url}, {second.url}")
        shell("reindex")
        provider.down()

        assert "does not answer" in shell("reindex", code=1).err
        assert second.seen == []
        provider.up()
        shell("doctor")
        assert searched(shell)["tier"] == "hybrid"


def test_another_width_of_the_same_model_needs_a_reindex_and_is_told_so(shell: Shell, provider: Provider) -> None:
    to(shell, provider)
    shell("reindex")

    ran = shell("config", "set", "embedding.dimensions", "64")

    assert "memory reindex  (3 chunks" in ran.out
    shell("reindex")
    assert "embedding.dimensions 768" in shell("reindex", "--rollback").out
    assert "embedding.dimensions = 0" in shell("config", "set", "embedding.provider", "hashed").out


def test_a_width_that_a_model_cannot_give_is_refused(shell: Shell) -> None:
    assert "256 dimensions, not 100" in shell("config", "set", "embedding.dimensions", "100", code=1).err


def test_a_reindex_whose_server_dies_half_way_goes_on_later(
    shell: Shell, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(EmbeddingSettings, "retries", 0)
    to(shell, provider, "embedding.batch_size", "1")
    provider.then(None, None, Status(500), Status(500))  # for a second text too

    assert "answered 500" in shell("reindex", code=1).err
    assert spaces(shell) == {"hashed-256": "active", "nomic-embed-text": "building"}
    provider.down()
    assert len(searched(shell, "--mode", "vector")["hits"]) == 3  # by the old model, whatever the settings say
    provider.up()
    result = shell("reindex", "--json").json
    assert 1 <= result["embedded"] <= 2


def test_a_text_that_the_model_does_not_take_is_left_out_and_named(shell: Shell, provider: Provider) -> None:
    provider.always(Refuses("JWT"))
    to(shell, provider)

    ran = shell("reindex")

    assert "refused 1 chunk" in ran.err
    assert len(searched(shell)["hits"]) == 2
    status = shell("status", "--json").json
    assert (status["failed"], status["failed_memories"]) == (1, 1)
    [failure] = status["failures"]
    refused = shell("details", "2", "--json").json["memory"]
    assert (failure["id"], failure["memory_id"], failure["failed"]) == (refused["id"], 2, 1)
    assert f"    memory {refused['id'][:8]}: 1 failed, " in shell("status").out
    assert f"memory {refused['id'][:8]}: 1 of its chunks failed, " in shell("doctor", code=1).out
    assert shell("details", "2", "--json").json["embedding"]["state"] == "failed"
    assert shell("details", "1", "--json").json["embedding"]["state"] == "generated"
    assert "Embedding: failed" in shell("details", "2").out
    assert shell("embed", code=1).err
    provider.always(None)
    assert shell("embed", "--json").json["embedded"] == 1
    assert shell("status", "--json").json["failed"] == 0


@pytest.mark.parametrize("fault", [Status(500), Status(403), Status(418), Status(503), Hang(0), HalfBody()], ids=str)
def test_a_fault_is_of_a_text_until_a_second_fails_too_whatever_it_says(
    shell: Shell, provider: Provider, fault: Fault, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(EmbeddingSettings, "retries", 1)
    provider.always(Refuses("JWT", fault))
    to(shell, provider)

    ran = shell("reindex")

    assert "refused 1 chunk" in ran.err
    assert "left alone" not in shell("status").out
    assert len(searched(shell)["hits"]) == 2
    provider.always(None)
    assert shell("embed", "--json").json["embedded"] == 1
    provider.always(fault)
    shell("save", "Later", "--what", "another")
    assert shell("embed", code=1).err  # now it is the server
    assert shell("status", "--json").json["failed"] == 0


def test_a_text_that_is_too_large_for_llama_cpp_is_embedded_in_parts(shell: Shell, provider: Provider) -> None:
    large = "input is too large to process. increase the physical batch size"
    provider.always(Refuses("JWT since", Status(500, {"error": large})))
    to(shell, provider)

    assert shell("reindex", "--json").json["embedded"] == 3


def test_a_client_that_is_not_installed_sends_nothing_and_the_ledger_says_so(shell: Shell, tmp_path: Path) -> None:
    away = tmp_path / "away" / "ollama.py"
    away.parent.mkdir()
    away.write_text("raise ImportError('No module named ollama')")
    there = replace(shell, settings={"PYTHONPATH": str(away.parent), "MEMORY_EMBEDDING_PROVIDER": "ollama"})
    assert "is not installed" in there.process("reindex", code=1).err
    there.process("search", QUESTION)

    assert not [line for line in shell("ledger", "--json").json["lines"] if line["host"]]


def test_what_reaches_no_server_is_no_byte_in_the_ledger(shell: Shell, provider: Provider) -> None:
    to(shell, provider)
    provider.down()
    shell("reindex", code=1)

    told = [line for line in shell("ledger", "--json", "--each").json["lines"] if line["host"]]
    assert {line["bytes_out"] for line in told if line["error"]} == {0}


def test_a_model_that_takes_nothing_is_an_error_and_no_text_is_blamed(shell: Shell, provider: Provider) -> None:
    to(shell, provider)
    provider.always(NotANumber())

    shell("reindex", code=1)

    assert shell("status", "--json").json["failed"] == 0
    assert spaces(shell)["hashed-256"] == "active"


def test_a_model_that_was_exchanged_is_noticed_and_reindex_mends_it(shell: Shell, provider: Provider) -> None:
    to(shell, provider)
    shell("reindex")
    provider.weights["nomic-embed-text"] = "pulled again"

    answer = searched(shell)
    assert answer["tier"] == "keyword"
    assert "same name" in answer["notices"][0]["text"]

    ran = shell("reindex")
    assert "the model behind this name has changed" in ran.err
    assert searched(shell)["tier"] == "hybrid"


def test_another_width_under_the_same_name_is_a_dimension_mismatch(shell: Shell, provider: Provider) -> None:
    to(shell, provider)
    shell("reindex")
    provider.models["nomic-embed-text"] = 512

    error = shell("search", QUESTION, "--mode", "vector", "--json", code=1).error
    assert error["error"] == "DimensionMismatch"
    assert "768" in error["message"]
    assert "512" in error["message"]
    shell("reindex")
    assert searched(shell)["tier"] == "hybrid"


def test_wrong_widths_once_are_not_believed(shell: Shell, provider: Provider) -> None:
    to(shell, provider)
    shell("reindex")
    provider.then(WrongWidth(3))

    assert searched(shell)["tier"] == "keyword"
    assert searched(shell)["tier"] == "hybrid"


# While nobody answers ------------------------------------------------------------------


def test_a_save_while_the_server_is_down_is_kept_and_embedded_by_the_next_search(
    shell: Shell, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(EmbeddingSettings, "pause_seconds", 0.0)
    to(shell, provider)
    shell("reindex")
    provider.down()

    shell("save", "Written in the dark")
    assert searched(shell)["tier"] == "keyword"
    assert shell("search", "dark").out
    assert shell("details", "4", "--json").json["embedding"]["state"] == "pending"

    provider.up()
    answer = searched(shell, "--explain")
    assert len(answer["hits"]) == 4
    assert "fill" in [step["name"] for step in answer["steps"]]
    assert shell("details", "4", "--json").json["embedding"]["state"] == "generated"


def test_an_eager_save_while_the_server_is_down_is_kept_with_a_notice(
    shell: Shell, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(EmbeddingSettings, "retries", 0)
    to(shell, provider, "embedding.fill", "eager")
    shell("reindex")
    provider.down()

    ran = shell("save", "Written in the dark")

    assert ran.out.startswith("Saved")
    assert "only by keyword for now" in ran.err
    provider.up()
    shell("save", "Written in the light")  # the first of the day is left alone for a minute
    assert shell("embed", "--json").json["left"] == 0
    assert shell("status", "--json").json["queued"] == 0


def test_a_dead_server_costs_one_wait_a_pause_and_not_one_a_search(
    shell: Shell, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(EmbeddingSettings, "pause_seconds", 3600.0)  # a slow machine may take a minute
    to(shell, provider)
    shell("reindex")
    provider.down()

    for _ in range(4):
        assert searched(shell)["tier"] == "keyword"

    failed = [line for line in shell("ledger", "--each", "--json").json["lines"] if "does not answer" in line["error"]]
    assert 1 <= len(failed) <= 3  # the tries of the first search
    assert "tried again in" in searched(shell)["notices"][0]["hint"]
    assert "left alone until" in shell("status").err
    provider.up()
    assert shell("doctor").out  # asks it now
    assert searched(shell)["tier"] == "hybrid"


def test_a_search_that_finds_the_server_resting_imports_no_client(shell: Shell, provider: Provider) -> None:
    to(shell, provider)
    shell("reindex")
    provider.down()
    searched(shell)
    program = f"""
        import sys
        from memory.cli import main
        code = main(["search", {QUESTION!r}])
        heavy = {{"numpy", "ollama", "httpx", "memory.vectors.client", "memory.vectors.providers.servers"}} & set(sys.modules)
        sys.exit(f"imported {{heavy}}" if heavy else code)
    """
    ran = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], env=shell.env, capture_output=True, text=True, check=False
    )

    assert ran.returncode == 0, ran.stderr
    assert "tried again in" in ran.stderr


def test_context_does_not_wait_for_a_cold_or_dead_model(shell: Shell, provider: Provider) -> None:
    to(shell, provider)
    shell("reindex")
    provider.loaded.clear()

    cold = shell("context", QUESTION, "--json").json
    assert "not loaded" in cold["notices"][0]["text"]
    assert len(cold["memories"]) == 3  # topped up with what is recent

    provider.loaded.add("nomic-embed-text")
    assert shell("context", QUESTION, "--json").json["tier"] == "hybrid"
    provider.down()
    assert shell("context", QUESTION, "--json").json["memories"]


def test_the_second_server_answers_while_the_first_is_down(shell: Shell, provider: Provider) -> None:
    with Provider() as second:
        to(shell, provider, "embedding.base_url", f"{provider.url}, {second.url}")
        shell("reindex")
        provider.down()

        assert searched(shell)["tier"] == "hybrid"
        assert second.seen


# Spending ----------------------------------------------------------------------------------


def test_over_the_daily_budget_searches_go_by_keyword_and_say_so(shell: Shell, provider: Provider) -> None:
    to(shell, provider, "embedding.daily_budget", "5 calls")
    shell("reindex")
    for number in range(6):
        shell("search", f"{QUESTION} {number}", "--json")
    sent = len(provider.seen)

    answer = searched(shell)

    assert answer["tier"] == "keyword"
    assert "budget of 5 calls a day" in answer["notices"][0]["text"]
    assert len(provider.seen) == sent
    assert sum(line["calls"] for line in shell("ledger", "--json").json["lines"] if line["host"]) == 5


def test_the_ledger_says_who_was_sent_what_for_what(shell: Shell, provider: Provider) -> None:
    to(shell, provider)
    shell("reindex")
    searched(shell)

    lines = shell("ledger", "--json").json["lines"]
    here = [line for line in lines if not line["host"]]
    there = [line for line in lines if line["host"]]
    assert {line["purpose"] for line in there} == {"probe", "reindex", "search"}
    assert {line["purpose"] for line in here} == {"probe", "save"}
    assert sum(line["bytes_out"] for line in here) == 0
    assert sum(line["texts"] for line in there) == sum(len(seen.texts) for seen in provider.seen)
    sent = sum(len(text.encode()) for seen in provider.seen for text in seen.texts)
    assert sum(line["bytes_out"] for line in there) == sent
    assert "this process" in shell("ledger").out
    assert provider.url in shell("ledger", "--each").out


def test_a_request_that_a_killed_process_made_is_in_the_ledger(shell: Shell, provider: Provider) -> None:
    from faults import Hang

    to(shell, provider)
    shell("reindex")
    seen = len(provider.seen)
    provider.always(Hang(600))
    child = shell.start("search", QUESTION, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    provider.wait(seen + 1)
    child.send_signal(signal.SIGKILL)
    child.wait(60)
    provider.always(None)

    latest = shell("ledger", "--each", "--json").json["lines"][0]
    assert (latest["purpose"], latest["error"]) == ("search", "no answer yet")
    assert latest["bytes_out"] >= len(QUESTION)


# Filling --------------------------------------------------------------------------------------


def test_a_long_note_is_kept_at_once_and_embedded_as_far_as_the_time_allows(shell: Shell) -> None:
    shell = replace(shell, settings={"MEMORY_EMBEDDING_FILL_SECONDS": "0"})
    body = "\n\n".join(f"# Part {n}\n\n" + "words and more words " * 100 for n in range(40))

    ran = shell("save", "A long one", "--details", "-", stdin=body)

    assert ran.out.startswith("Saved")
    assert "wait for their vectors" in ran.err
    queued = shell("status", "--json").json["queued"]
    assert queued > 20
    assert searched(shell)["tier"] == "hybrid"
    assert shell("status", "--json").json["queued"] < queued
    assert shell("embed", "--json").json["left"] == 0


def test_a_search_leaves_a_long_queue_to_memory_embed(shell: Shell) -> None:
    shell("config", "set", "embedding.fill", "lazy")
    for number in range(4):
        shell("save", f"Number {number}")
    limited = replace(shell, settings={"AUTO_BACKFILL_THRESHOLD": "3"})

    answer = searched(limited)

    assert "4 chunks have no vector yet" in answer["notices"][0]["text"]
    assert shell("status", "--json").json["queued"] == 4
    assert len(searched(shell, "-n", "20")["hits"]) == 7


def test_the_first_search_that_needs_vectors_embeds_what_was_kept_lazily(tmp_path: Path, provider: Provider) -> None:
    shell = Plain(tmp_path / "home", tmp_path)
    to(shell, provider)
    provider.seen.clear()
    for title in ("Postgres pool raised", "Switched to JWT"):
        shell("save", title)
    assert provider.seen == []  # a save does not wait for a server

    assert len(searched(shell)["hits"]) == 2


# Doctor --------------------------------------------------------------------------------------------


def test_a_healthy_memory_is_all_well(shell: Shell) -> None:
    report = shell("doctor", "--json").json

    assert report["well"]
    assert {found["name"] for found in report["findings"]} >= {"database", "model", "vectors", "queue"}


def test_doctor_finds_and_mends(shell: Shell, provider: Provider) -> None:
    import apsw

    to(shell, provider)
    shell("reindex")
    shell("save", "One more")
    db = apsw.Connection(str(shell.home / "memory.db"))
    db.execute("update counters set value = value + 5; insert into passages_fts(passages_fts) values ('delete-all')")
    db.close()

    ran = shell("doctor", code=1)
    assert ran.out.count("problem ") == 2
    assert "memory doctor --fix" in ran.out

    fixed = shell("doctor", "--fix", "--json").json
    assert fixed["well"], fixed
    assert [found["name"] for found in fixed["findings"] if found["mended"]] == ["database", "queue"]
    assert shell("search", "postgres").out
    shell("doctor")


def test_doctor_names_a_model_that_does_not_answer(shell: Shell, provider: Provider) -> None:
    to(shell, provider)
    shell("reindex")
    provider.down()

    ran = shell("doctor", "--json", code=1)

    [model] = [found for found in ran.json["findings"] if found["name"] == "model"]
    assert (model["well"], "ollama serve" in model["hint"]) == (False, True)


# Settings ---------------------------------------------------------------------------------------------


def test_the_file_keeps_its_comments_and_its_other_settings(shell: Shell) -> None:
    file = shell.home / "config.yaml"
    file.write_text(
        "# mine\nsearch:\n  limit: 9 # nine\n  # gate next\n  gate: auto\n\nembedding:\n  provider: hashed\n"
    )

    shell("config", "set", "search.gate", "count", "context.tokens", "100")

    text = file.read_text()
    assert text.startswith("# mine\nsearch:\n  limit: 9 # nine\n  # gate next\n  gate: count\n")
    settings = {row["key"]: row["value"] for row in shell("config", "--json").json["settings"]}
    assert (settings["search.limit"], settings["search.gate"], settings["context.tokens"]) == (9, "count", 100)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["search.limit"], "has no value"),
        (["search.limit", "many"], "whole number"),
        (["search.limmit", "3"], "search.limit"),
        (["embedding.provider", "olama"], "ollama"),
        (["embedding.daily_budget", "lots"], "500 calls"),
    ],
)
def test_what_cannot_be_set_is_said_and_nothing_is_changed(shell: Shell, arguments: list[str], said: str) -> None:
    before = (shell.home / "config.yaml").read_bytes()

    ran = shell("config", "set", *arguments, code=2)

    assert said in ran.err
    assert (shell.home / "config.yaml").read_bytes() == before


def test_a_setting_can_be_set_before_anything_else(tmp_path: Path) -> None:
    shell = Plain(tmp_path / "new" / "home", tmp_path)

    shell("config", "set", "search.limit", "7")

    assert shell("config", "search.limit").out.split()[1] == "7"


def test_a_setting_that_the_environment_overrides_is_pointed_out(shell: Shell) -> None:
    ran = replace(shell, settings={"MEMORY_SEARCH_LIMIT": "3"})("config", "set", "search.limit", "7")

    assert "$MEMORY_SEARCH_LIMIT is set and overrides" in ran.err


def test_a_setting_can_be_read_by_a_program(shell: Shell, provider: Provider) -> None:
    told = json.loads(
        shell("config", "set", "embedding.provider", "ollama", "embedding.base_url", provider.url, "--json").out
    )

    assert told["schema"] == "memory.config-set/1"
    assert told["space"]["dimension"] == 768
    assert told["reindex"]["chunks"] == 3
