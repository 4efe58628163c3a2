"""
What the packages say of themselves and have beside the code: read by Hatchling when it builds them (pyproject.toml).

PyPI shows the README alone, where a link to another file leads nowhere: links become addresses of the public repository;
as long as there is none, they become their text, and pictures are left out. The wheel has the pages of docs, which `memory help TOPIC` shows.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

ADDRESS = ""
"""
The public repository, such as "https://forge.example/owner/memory". Empty until its owner fills it in; until then
`scripts/release.py --publish` refuses.
"""

_TARGET = r"\((?!https?://|mailto:)([^()\s]+)\)"
LINK = re.compile(rf"(?<!!)\[([^\[\]]+)\]{_TARGET}")
PICTURE = re.compile(rf"!\[([^\[\]]*)\]{_TARGET}")


def readme(text: str, address: str = ADDRESS) -> str:
    """The README without a relative link."""
    text = PICTURE.sub(rf"![\1]({address}/raw/main/\2)" if address else "", text)
    return LINK.sub(rf"[\1]({address}/blob/main/\2)" if address else r"\1", text)


def urls(address: str = ADDRESS) -> dict[str, str]:
    """What PyPI lists beside the README."""
    if not address:
        return {}
    pages = {"Documentation": "tree/main/docs", "Changelog": "blob/main/CHANGELOG.md", "Issues": "issues"}
    return {"Repository": address} | {name: f"{address}/{path}" for name, path in pages.items()}


class MetadataHook(MetadataHookInterface):
    def update(self, metadata: dict[str, Any]) -> None:
        text = Path(self.root, "README.md").read_text("utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": readme(text)}
        if found := urls():
            metadata["urls"] = found


class BuildHook(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version != "editable":  # in a checkout, the pages are where they are
            pages = sorted(Path(self.root, "docs").glob("*.md"))
            build_data["force_include"] |= {str(page): f"memory/docs/{page.name}" for page in pages}
