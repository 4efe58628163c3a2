from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from memory.config.project import aliases, names, project


def test_a_folder_in_a_repository_belongs_to_the_repository(tmp_path: Path) -> None:
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    inside = tmp_path / "shop" / "src" / "deep"
    inside.mkdir(parents=True)

    assert project(inside) == "shop"
    assert project(tmp_path / "shop") == "shop"


def test_the_innermost_repository_counts(tmp_path: Path) -> None:
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    (tmp_path / "shop" / "plugins" / "tax" / ".git").mkdir(parents=True)

    assert project(tmp_path / "shop" / "plugins" / "tax") == "tax"


def test_without_git_it_is_the_folder_itself(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()

    assert project(tmp_path / "notes") == "notes"


def test_the_root_is_no_project() -> None:
    assert project(Path("/")) is None


def test_a_folder_that_is_gone_still_has_its_name(tmp_path: Path) -> None:
    assert project(tmp_path / "gone") == "gone"


def test_a_link_is_what_it_points_to(tmp_path: Path) -> None:
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "shop")

    assert project(tmp_path / "link") == "shop"


@pytest.mark.parametrize(
    ("mark", "expected"),
    [
        ("gitdir: {root}/shop/.git/worktrees/feature", "shop"),
        ("gitdir: ../shop/.git/worktrees/feature\n", "shop"),
        ("gitdir: {root}/shop.git/worktrees/feature", "shop"),
        ("gitdir: {root}/my.shop/worktrees/feature", "my.shop"),
        ("gitdir: {root}/shop/.bare/worktrees/feature", "shop"),
        ("gitdir: {root}/shop/.git/modules/feature", "feature"),
        ("nonsense", "feature"),
        ("", "feature"),
    ],
)
def test_a_worktree_belongs_to_its_repository_and_a_submodule_to_itself(
    tmp_path: Path, mark: str, expected: str
) -> None:
    (tmp_path / "feature" / "src").mkdir(parents=True)
    (tmp_path / "feature" / ".git").write_text(mark.format(root=tmp_path))

    assert project(tmp_path / "feature" / "src") == expected


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
@pytest.mark.parametrize("bare", [False, True])
def test_a_worktree_made_by_git_belongs_to_its_repository(tmp_path: Path, bare: bool) -> None:
    def git(*arguments: str | Path, at: Path) -> None:
        settings = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"]
        subprocess.run(["git", *settings, *arguments], cwd=at, check=True, capture_output=True)

    shop = tmp_path / "shop"
    shop.mkdir()
    git("init", at=shop)
    git("commit", "--allow-empty", "-m", "first", at=shop)
    if bare:
        git("clone", "--bare", shop, tmp_path / "market.git", at=tmp_path)
        git("worktree", "add", "-b", "fix", tmp_path / "fix", at=tmp_path / "market.git")
    else:
        git("worktree", "add", "-b", "fix", tmp_path / "fix", at=shop)

    assert project(tmp_path / "fix") == ("market" if bare else "shop")


def test_a_home_folder_is_no_project_unless_it_is_a_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert project(tmp_path) is None
    assert project(tmp_path / "notes") == "notes"

    (tmp_path / ".git").mkdir()
    assert project(tmp_path) == tmp_path.name


def test_names_that_mean_another_project() -> None:
    known = aliases(" old = mid ,mid=new, website = shop,, ")

    assert known == {"old": "new", "mid": "new", "website": "shop"}
    assert names("mid", known) == names("new", known) == {"old", "mid", "new"}
    assert names("unknown", known) == {"unknown"}
    assert aliases("") == {}


@pytest.mark.parametrize("text", ["old", "= new", "old =", "a = b = c", "a = b, a = c", "a = b, b = a", "a = a"])
def test_a_list_of_aliases_that_means_nothing_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"[a-c]|old|new"):
        aliases(text)
