"""
Builds the documentation as a site that needs no network, in FOLDER.

    python scripts/site/build.py FOLDER

The pages are those of the checkout: they are copied into one tree, in which every link leads where it does in the
repository. A link to what is no page (a file of source code) becomes its text. The reference of the library is made of
the docstrings of the public names. MkDocs then builds strictly: a link without a target is an error.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import memory

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
TOP = ("README.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONVENTIONS.md")
LINK = re.compile(r"(?<!!)\[([^\[\]]*)\]\(([^()\s:#]+)(#[^()\s]*)?\)")
REFERENCE = """# The library

After this page you know what each public name of `import memory` takes, gives and raises.
[The guide](library.md) shows how they work together.

"""


def pages(tree: Path) -> None:
    """Copy what the site shows: the pages on top, docs, and the runs that they refer to."""
    for name in TOP:
        shutil.copy(ROOT / name, tree / name)
    shutil.copytree(ROOT / "docs", tree / "docs")
    shutil.copytree(ROOT / "bench/runs", tree / "bench/runs", ignore=shutil.ignore_patterns("*.json"))
    (tree / "assets").mkdir()
    shutil.copy(HERE / "iframe-worker.js", tree / "assets")
    (tree / "docs/reference.md").write_text(
        REFERENCE + "\n".join(f"::: memory.{name}\n" for name in sorted(memory.__all__)), "utf-8"
    )


def without_sources(tree: Path) -> None:
    """Links to files that are no pages become their text; a folder with a README is that page."""
    for page in tree.rglob("*.md"):

        def shown(link: re.Match[str], page: Path = page) -> str:
            target = page.parent / link[2]
            if (target / "README.md").is_file():
                return f"[{link[1]}]({link[2].rstrip('/')}/README.md{link[3] or ''})"
            repository = (ROOT / page.relative_to(tree)).parent / link[2]
            return link[1] if repository.exists() and not target.is_file() else link[0]

        page.write_text(LINK.sub(shown, page.read_text("utf-8")), "utf-8")


def main(to: Path) -> int:
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder, "pages")
        tree.mkdir()
        pages(tree)
        without_sources(tree)
        settings = Path(folder, "mkdocs.yml")
        settings.write_text((HERE / "mkdocs.yml").read_text("utf-8") + f"docs_dir: {tree}\nsite_dir: {to.resolve()}\n")
        built = [sys.executable, "-m", "mkdocs", "build", "--strict", "--clean", "-f", settings]
        return subprocess.run(built, env=os.environ | {"NO_MKDOCS_2_WARNING": "1"}, check=False).returncode


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(Path(sys.argv[1])))
