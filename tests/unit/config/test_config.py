from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

from memory.config import Config, keys, load, meaning, value, variable, with_setting
from memory.config.edit import example, yaml_text
from memory.config.settings import FORMER, ContextSettings, EmbeddingSettings
from memory.schema import kinds
from memory.schema.errors import ConfigError
from memory.schema.kinds import Kind

ROOT = Path(__file__).parents[3]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home without a settings file."""
    return tmp_path


def loaded(home: Path, text: str | bytes) -> Config:
    """The settings of a home whose config.yaml says this."""
    (home / "config.yaml").write_bytes(text if isinstance(text, bytes) else text.encode())
    return load(env={"MEMORY_HOME": str(home)})


@pytest.mark.parametrize("said", list(product([False, True], repeat=3)))
def test_a_flag_beats_the_environment_beats_the_file_beats_the_default(home: Path, said: tuple[bool, ...]) -> None:
    in_file, in_environment, in_flags = said
    file, env, flags = home / "config.yaml", {"MEMORY_HOME": str(home)}, {"search.limit": None}
    if in_file:
        file.write_text("search:\n  limit: 6\n")
    if in_environment:
        env["MEMORY_SEARCH_LIMIT"] = "7"
    if in_flags:
        flags["search.limit"] = 8

    config = load(env=env, flags=flags)

    expected = [(5, "default"), (6, str(file)), (7, "$MEMORY_SEARCH_LIMIT"), (8, "flag")]
    last = max(n for n, given in enumerate([True, *said]) if given)
    assert (config.search.limit, config.origins.get("search.limit", "default")) == expected[last]


def test_without_any_settings_all_is_default(home: Path) -> None:
    config = load(env={"MEMORY_HOME": str(home)})

    assert config == Config(home=str(home))
    assert dict(config.origins) == {"home": "$MEMORY_HOME"}


def test_the_home_of_a_flag_brings_its_own_file(home: Path) -> None:
    other = home / "other"
    other.mkdir()
    (other / "config.yaml").write_text("search: {limit: 9}")

    assert load(env={"MEMORY_HOME": str(home)}, flags={"home": str(other)}).search.limit == 9


def test_the_file_may_name_another_home(home: Path) -> None:
    file = home / "settings.yaml"
    file.write_text(f"home: {home}/elsewhere\n")

    assert load(file, env={}).database == str(home / "elsewhere" / "memory.db")


def test_a_tilde_is_the_users_folder() -> None:
    assert load(env={"MEMORY_HOME": "~/notes"}).folder == str(Path.home() / "notes")


def test_a_tilde_of_nobody_is_said() -> None:
    with pytest.raises(ConfigError, match="~no-such-user"):
        load(env={"MEMORY_HOME": "~no-such-user/notes"})


def test_an_empty_variable_says_nothing(home: Path) -> None:
    env = {"MEMORY_HOME": str(home), "MEMORY_SEARCH_LIMIT": "", "MEMORY_CONFIG": ""}

    assert load(env=env).search.limit == 5


@pytest.mark.parametrize("key", [key for key in keys() if key != "home"])
def test_every_setting_can_come_from_the_environment(home: Path, key: str) -> None:
    variable, default = "MEMORY_" + key.replace(".", "_").upper(), value(Config(), key)
    text = {True: "true", False: "false"}.get(default, str(default)) if isinstance(default, bool) else str(default)

    said = text or {
        "embedding.daily_budget": "9 calls",
        "project_aliases": "old = new",
        "mcp.toolsets": "core",
        "chunking.kinds": "note = never",
        "store.url": "postgresql://host/notes",
    }.get(key, "x")
    config = load(env={"MEMORY_HOME": str(home), variable: said})

    assert value(config, key) == (said if default == "" else default)
    assert config.origins[key] == f"${variable}"


@pytest.mark.parametrize(
    ("text", "wrong", "near"),
    [
        ("search: {limits: 3}", "search.limits", "search.limit"),
        ("search: {min_fts_result: 3}", "search.min_fts_result", "search.min_fts_results"),
        ("limit: 3", "limit", "search.limit"),
        ("provider: hashed", "provider", "embedding.provider"),
        ("hom: /tmp", "hom", "home"),
        ("embeddings: {provider: hashed}", "embeddings", "embedding"),
        ("chunking: {mode: tiered}", "chunking.mode", "search.mode"),
    ],
)
def test_an_unknown_key_suggests_the_nearest(home: Path, text: str, wrong: str, near: str) -> None:
    with pytest.raises(ConfigError) as caught:
        loaded(home, text)

    assert str(home / "config.yaml") in str(caught.value)
    assert repr(wrong) in str(caught.value)
    assert repr(near) in caught.value.hint


@pytest.mark.parametrize("key", FORMER)
def test_a_former_setting_at_its_default_goes_on_working(home: Path, key: str) -> None:
    section, _, name = key.partition(".")

    config = loaded(home, f"{section}:\n  {name}: {yaml_text(FORMER[key].usual)}\n")

    assert (config, config.former) == (Config(home=str(home)), ())


HOLDING = {"embedding.query_seconds": {"query_share": 0.7 / 30}}
"""Former settings that a number is carried over of."""


@pytest.mark.parametrize("key", FORMER)
@pytest.mark.parametrize("place", ["file", "environment"])
def test_a_former_setting_says_what_holds_in_its_place(home: Path, key: str, place: str) -> None:
    section, _, name = key.partition(".")

    if place == "file":
        config = loaded(home, f"{section}:\n  {name}: 0.7\n")
    else:
        config = load(env={"MEMORY_HOME": str(home), variable(key): "0.7"})

    origin, holds = str(home / "config.yaml") if place == "file" else f"${variable(key)}", HOLDING.get(key, {})
    said = f"{origin}: no setting {key!r}{', but it still holds' if holds else ''}"
    assert config == replace(Config(home=str(home)), embedding=EmbeddingSettings(**holds))
    assert [(one.text, one.hint) for one in config.former] == [(said, FORMER[key].now)]


@pytest.mark.parametrize("key", [key for key, former in FORMER.items() if former.usual != ""])
def test_an_empty_text_is_no_default_of_a_former_setting_that_had_another(home: Path, key: str) -> None:
    section, _, name = key.partition(".")

    config = loaded(home, f'{section}:\n  {name}: ""\n')

    assert len(config.former) == 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{provider: ollama, ollama_host: a}", {"base_url": "a"}),
        ("{provider: openai, openai_base_url: a}", {"base_url": "a"}),
        ("{fallback: b, openai_base_url: a, provider: openai}", {"base_url": "a, b"}),
        ("{provider: ollama, fallback: b}", {"base_url": ", b"}),
        ("{provider: openai, ollama_host: a}", {"base_url": ""}),
        ("{provider: local, openai_base_url: a, fallback: b}", {"base_url": ""}),
        ("{provider: openai, openai_base_url: a, base_url: c}", {"base_url": "c"}),
        ('{provider: openai, openai_base_url: a, base_url: ""}', {"base_url": "a"}),
        ("{expected_dimension: 384}", {"expected_dimension": 384, "dimensions": 0}),
        ("{query_seconds: 20, timeout_seconds: 40}", {"query_seconds": 20, "timeout_seconds": 40}),
    ],
)
def test_what_there_is_a_place_for_is_carried_over(home: Path, text: str, expected: dict[str, object]) -> None:
    config = loaded(home, f"embedding: {text}\n")

    assert {name: getattr(config.embedding, name) for name in expected} == expected
    assert config.former


@pytest.mark.parametrize("key", FORMER)
def test_nobody_sets_a_former_setting_anew(home: Path, key: str) -> None:
    with pytest.raises(ConfigError) as caught:
        with_setting(Config(), key, FORMER[key].usual, "")

    assert (str(caught.value), caught.value.hint) == (f"no setting {key!r}", FORMER[key].now)


def test_what_is_said_in_place_of_a_former_setting_names_one_that_there_is() -> None:
    named = {name for former in FORMER.values() for name in re.findall(r"'([a-z_.]+)'", former.now)}

    assert named <= {*keys()}
    assert not {*FORMER} & {*keys()}


@pytest.mark.parametrize(("said", "meant"), [("on", True), ("off", False), ("Yes", True), ("0", False)])
def test_a_switch_is_said_in_several_ways(said: str, meant: bool) -> None:
    assert with_setting(Config(), "search.time", said, "").search.time is meant


def test_there_are_few_settings() -> None:
    assert len(keys()) <= 46


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("search: {limit: 0}", ["search.limit", "0", "1 to 10,000"]),
        ("search: {limit: 2.5}", ["search.limit", "2.5", "whole number"]),
        ("search: {limit: true}", ["search.limit", "True", "1 to 10,000"]),
        ("search: {limit: many}", ["search.limit", "'many'", "1 to 10,000"]),
        ("search: {limit: [1]}", ["search.limit", "[1]", "1 to 10,000"]),
        ("search: {limit: }", ["search.limit", "None", "1 to 10,000"]),
        ("search: {vector_weight: 1.1}", ["search.vector_weight", "1.1", "0 to 1"]),
        ("search: {vector_weight: .nan}", ["search.vector_weight", "nan", "0 to 1"]),
        ("search: {slow_seconds: .inf}", ["search.slow_seconds", "inf", "0 to 3,600"]),
        ("search: {mode: fast}", ["search.mode", "'fast'", "tiered, keyword, vector, hybrid"]),
        ("search: {mode: [tiered]}", ["search.mode", "['tiered']", "tiered, keyword"]),
        ("search: {gate: no}", ["search.gate", "False", "auto, count, always, never"]),
        ("context: {topup_recent: maybe}", ["context.topup_recent", "'maybe'", "true", "false"]),
        ("embedding: {model: 3}", ["embedding.model", "3", "text"]),
        ('home: "a\\0b"', ["home", r"a\x00b", "text"]),
        ('home: "\\ud800"', ["home", r"\ud800", "text"]),
    ],
)
def test_a_bad_value_is_said_with_its_key_and_what_would_do(home: Path, text: str, parts: list[str]) -> None:
    with pytest.raises(ConfigError) as caught:
        loaded(home, text)

    assert all(part in str(caught.value) for part in [str(home / "config.yaml"), *parts])


@pytest.mark.parametrize(
    ("key", "ends"),
    [("search.limit", (1, 10_000)), ("search.vector_weight", (0, 1)), ("search.slow_seconds", (0, 3600))],
)
def test_the_ends_of_a_range_belong_to_it(home: Path, key: str, ends: tuple[float, float]) -> None:
    for end in ends:
        assert value(load(env={"MEMORY_HOME": str(home)}, flags={key: end}), key) == end


def test_a_bad_variable_is_said_by_its_name(home: Path) -> None:
    with pytest.raises(ConfigError, match=r"\$MEMORY_SEARCH_LIMIT: search.limit: .* from 1 to 10,000, not 'x'"):
        load(env={"MEMORY_HOME": str(home), "MEMORY_SEARCH_LIMIT": "x"})


@pytest.mark.parametrize(
    "text",
    [
        "search: [",
        "a: b: c",
        "\tsearch:",
        "- search",
        "text",
        "search: 3",
        "home: 2026-13-45",
        "[" * 5_000,
        "a: !x b",
        b"\xff\xfe",
        b"\x00",
        b"search: {limit: 3}\x07",
    ],
)
def test_what_is_no_settings_file_is_said_with_its_name(home: Path, text: str | bytes) -> None:
    with pytest.raises(ConfigError, match=r"config\.yaml"):
        loaded(home, text)


@pytest.mark.parametrize("text", ["", "\n\n", "# search: {limit: 3}", "---\n", "search:\n", "search: {}\n", "null"])
def test_a_file_that_sets_nothing_changes_nothing(home: Path, text: str) -> None:
    assert loaded(home, text) == Config(home=str(home))


@pytest.mark.parametrize("text", ["search: {limit: 3}", "search:\r\n  limit: 3\r\n", "# é\nsearch: {limit: '3'}"])
def test_a_byte_order_mark_is_no_part_of_the_settings(home: Path, text: str) -> None:
    assert loaded(home, b"\xef\xbb\xbf" + text.encode()).search.limit == 3


@pytest.mark.parametrize("given", ["argument", "variable"])
def test_a_file_that_was_asked_for_must_be_there(home: Path, given: str) -> None:
    missing = home / "none.yaml"

    with pytest.raises(ConfigError, match=r"none\.yaml: No such file") as caught:
        load(missing, env={}) if given == "argument" else load(env={"MEMORY_CONFIG": str(missing)})

    assert "memory init" in caught.value.hint


def test_a_folder_in_place_of_the_file_is_said(home: Path) -> None:
    (home / "config.yaml").mkdir()

    with pytest.raises(ConfigError, match=r"config\.yaml: Is a directory"):
        load(env={"MEMORY_HOME": str(home)})


def test_a_file_above_the_home_is_for_whoever_opens_it_to_say(home: Path) -> None:
    (home / "file").write_text("")

    assert load(env={"MEMORY_HOME": str(home / "file" / "home")}).folder == str(home / "file" / "home")


def test_the_example_beside_the_readme_is_that_of_the_code() -> None:
    """Made by `python -c "from memory.config.edit import example; print(example(), end='')" > config.example.yaml`."""
    assert (ROOT / "config.example.yaml").read_text(encoding="utf-8") == example()


def test_the_example_changes_nothing(home: Path) -> None:
    assert loaded(home, example()) == Config(home=str(home))


def test_the_example_without_its_comment_marks_sets_every_default(home: Path) -> None:
    lines = [re.sub(r"^#(?=(?:  )?[a-z_]+:)", "", line) for line in example().splitlines()]
    file = home / "settings.yaml"
    file.write_text("\n".join(lines))

    config = load(file, env={})

    assert config == Config()
    assert dict(config.origins) == dict.fromkeys(keys(), str(file))


def test_the_example_begins_with_what_decides_and_comments_nothing_twice() -> None:
    settings = re.findall(r"^#(?:  )?([a-z_]+):", example(), re.MULTILINE)

    assert settings[:4] == ["embedding", "provider", "model", "daily_budget"]
    assert "# #" not in example()


def test_every_setting_has_one_line_of_meaning() -> None:
    assert all(meaning(key).endswith(".") and "\n" not in meaning(key) for key in keys())


@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_a_file_of_comments_does_not_import_yaml(home: Path, mark: str) -> None:
    (home / "config.yaml").write_text(mark + example(), encoding="utf-8")
    program = "import sys; from memory.config import load; load(); print('yaml' in sys.modules)"

    run = subprocess.run(
        [sys.executable, "-c", program], env={"MEMORY_HOME": str(home)}, capture_output=True, text=True, check=True
    )

    assert run.stdout.strip() == "False"


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="XDG is for the other platforms")
def test_without_a_home_the_database_lies_where_xdg_says(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert Config().database == str(tmp_path / "memory" / "memory.db")

    monkeypatch.setenv("XDG_DATA_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert Config().folder == str(tmp_path / ".local" / "share" / "memory")


def test_a_section_is_a_value() -> None:
    section = Config().search

    assert section == replace(section, limit=5) != replace(section, limit=6)
    assert hash(section) == hash(replace(section, limit=5))
    with pytest.raises(AttributeError):
        section.limit = 7
    with pytest.raises(AttributeError):
        del section.limit
    with pytest.raises(TypeError, match="limti"):
        type(section)(limti=7)


@pytest.mark.parametrize(("tokens", "limit"), [(1, 10), (2000, 10), (2200, 11), (50_000, 250), (1_000_000, 1000)])
def test_a_larger_context_holds_more_memories(tokens: int, limit: int) -> None:
    assert ContextSettings(tokens=tokens).limit == limit


def test_a_search_waits_a_third_as_long() -> None:
    assert EmbeddingSettings().query_seconds == 10
    assert EmbeddingSettings(timeout_seconds=90.0).query_seconds == 30


@pytest.mark.parametrize(
    ("written", "servers"),
    [("", ("", "")), ("http://a:1", ("http://a:1", "")), (" http://a:1 , http://b:2 ", ("http://a:1", "http://b:2"))],
)
def test_a_second_server_stands_after_a_comma(written: str, servers: tuple[str, str]) -> None:
    assert EmbeddingSettings(base_url=written).servers == servers


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("", {}),
        ("report = 512", {Kind.REPORT: 512}),
        (" reports=16 , note = never,", {Kind.REPORT: 16, Kind.NOTE: None}),
    ],
)
def test_sizes_of_kinds(text: str, sizes: dict[Kind, int | None]) -> None:
    assert dict(kinds.sizes(text)) == sizes


@pytest.mark.parametrize(
    ("text", "said"),
    [("raport = 512", "report"), ("report", "report = 512"), ("report = 5", "16"), ("report = x", "16")],
)
def test_a_size_that_is_none_says_what_would_be_right(text: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        load("/dev/null", env={"MEMORY_CHUNKING_KINDS": text})


@pytest.mark.parametrize(
    "text", ["embedding:\n  api_key: x", "embeddings:\n  model: m", "enrichment:\n  provider: none"]
)
def test_a_file_of_another_program_in_our_place_says_how_to_take_it_over(home: Path, text: str) -> None:
    with pytest.raises(ConfigError) as refused:
        loaded(home, text)

    assert "`memory config import FILE`" in refused.value.hint
