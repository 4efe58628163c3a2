"""Workflows call what `.ci/run` calls, with no more rights than they need; forms and policies are whole."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[3]
GITHUB = ROOT / ".github"
WORKFLOWS = {path.stem: yaml.safe_load(path.read_text("utf-8")) for path in (GITHUB / "workflows").glob("*.yml")}
CALLED = {"make check", "make test", "make test-more"}


def called(workflow: str) -> list[str]:
    """The commands of a workflow, without the settings behind them."""
    jobs = WORKFLOWS[workflow]["jobs"].values()
    steps = [step["run"] for job in jobs for step in job["steps"] if "run" in step]
    return [re.match(r"make [a-z-]+", run)[0] for run in steps]


def test_what_runs_there_is_what_runs_here() -> None:
    run = (ROOT / ".ci/run").read_text("utf-8") if (ROOT / ".ci/run").exists() else "\n".join(CALLED)

    assert {line for line in run.splitlines() if line.startswith("make ")} == CALLED
    assert set(WORKFLOWS) == {"checks", "docs", "release"}
    assert sorted(called("checks")) == sorted(CALLED)
    assert called("release") == [*sorted(CALLED), "make release"]
    assert called("docs") == ["make site"]
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    assert {one.removeprefix("make ") for name in WORKFLOWS for one in called(name)} <= {*targets}


def test_tests_run_on_three_systems_and_on_every_python_that_is_promised() -> None:
    matrix = WORKFLOWS["checks"]["jobs"]["test"]["strategy"]["matrix"]
    promised = re.findall(r"Python :: (3\.\d+)", (ROOT / "pyproject.toml").read_text("utf-8"))

    assert matrix["python"] == promised
    assert [one.partition("-")[0] for one in matrix["os"]] == ["ubuntu", "macos", "windows"]


def test_only_jobs_that_publish_may_ask_for_a_token() -> None:
    for name, workflow in WORKFLOWS.items():
        assert workflow["permissions"] == {"contents": "read"}, name
        for job, steps in workflow["jobs"].items():
            assert ("id-token" in steps.get("permissions", {})) == (job == "publish"), (name, job)
            assert "secrets" not in str(steps), (name, job)


def test_a_release_is_built_after_the_checks_and_published_with_attestations() -> None:
    jobs = WORKFLOWS["release"]["jobs"]

    assert (jobs["build"]["needs"], jobs["publish"]["needs"]) == ("checks", "build")
    assert "--publish" in jobs["build"]["steps"][2]["run"]
    assert jobs["publish"]["steps"][-1]["with"] == {"attestations": True}


@pytest.mark.parametrize("name", ["problem", "idea"])
def test_a_form_asks_for_something(name: str) -> None:
    form: dict[str, Any] = yaml.safe_load((GITHUB / f"ISSUE_TEMPLATE/{name}.yml").read_text("utf-8"))
    asked = [field for field in form["body"] if field["type"] != "markdown"]

    assert form["name"]
    assert form["description"]
    assert len({field["id"] for field in asked}) == len(asked)
    assert all(field["attributes"]["label"] for field in asked)
    assert any(field.get("validations", {}).get("required") for field in asked)


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "SECURITY.md"])
def test_links_of_a_policy_lead_somewhere(page: str) -> None:
    links = re.findall(r"\]\(([^)#]+)", (GITHUB / page).read_text("utf-8"))

    assert links
    assert [link for link in links if not (GITHUB / link).exists()] == []
