"""
How large the image of scripts/deploy is, and how much memory its server takes.

    python bench/image.py            four minutes; podman, and root with debootstrap if the base cannot be pulled
    python bench/image.py --keep     the run is kept in bench/runs/

The container is run as the Dockerfile says. Memory is the most that its process had in RAM (VmHWM) until it gave its first
answer, pages of files among it, such as those of the model's weights. The store has 1,000 memories of the documentation.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from mcp import Server

from report import aligned, keep, setting
from texts import drafts

sys.path.append(str(Path(__file__).parents[1] / "scripts/deploy"))
from build import IMAGE, SETTINGS, Podman, Unavailable, built

TOLD = (
    "The image of scripts/deploy/Dockerfile, and the most memory that its server had in RAM until its first answer. "
    "MB are millions of bytes."
)
MEMORIES = 1000
IMAGE_BYTES, MODEL_BYTES, RAM = 200_000_000, 100_000_000, 500_000_000  # at most
QUESTION = "why do my writers wait for each other"
DATA = "--volume=memories:/data"
NAME = "server"


@dataclass(frozen=True, slots=True)
class Bytes:
    """
    Attributes:
        most: The bar; None where there is none.
    """

    what: str
    bytes: int
    most: int | None = None


def table(found: list[Bytes]) -> str:
    rows = [("what", "MB", "bar", ""), ("---", "---:", "---:", "---")]
    for one in found:
        bar = "" if one.most is None else f"≤ {one.most / 1e6:.0f}"
        met = "" if one.most is None else "met" if one.bytes <= one.most else "NOT met"
        rows.append((one.what, f"{one.bytes / 1e6:.1f}", bar, met))
    return aligned(rows)


def peak(podman: Podman, mode: str) -> int:
    """Of a server that answers one question."""
    command = podman.command("run", "--interactive", f"--name={NAME}", "--network=none", DATA, IMAGE)
    with tempfile.TemporaryDirectory() as folder, Server(os.environ | {"MEMORY_HOME": folder}, *command) as server:
        server.called("memory_search", query=QUESTION, mode=mode)
        pid = podman("inspect", "--format", "{{.State.Pid}}", NAME)
        status = Path(f"/proc/{pid}/status").read_text("utf-8")
    return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM"))


def measured(podman: Podman, count: int) -> list[Bytes]:
    base = podman("image", "inspect", "--format", "{{index .RootFS.Layers 0}}", IMAGE)
    (name,) = (one for one in podman("images", "--format", "{{.Repository}}:{{.Tag}}").splitlines() if "python" in one)
    if podman("image", "inspect", "--format", "{{index .RootFS.Layers 0}}", name) != base:
        raise RuntimeError(f"the image does not begin with {name}")
    python = podman("run", "--network=none", name, "python", "--version")
    debian = podman("run", "--network=none", name, "sh", "-c", ". /etc/os-release; echo $PRETTY_NAME")
    whole, below = podman.bytes(), podman.bytes(name)
    found = [Bytes("the image without its base", whole - below, IMAGE_BYTES)]
    found.append(Bytes(f"its base here: {python} on {debian}", below))

    with tempfile.TemporaryDirectory() as folder:
        for number, draft in enumerate(drafts(count)):
            text = f"---\ntitle: {json.dumps(draft.title)}\n---\n{draft.what}\n"
            Path(folder, f"{number}.md").write_text(text, "utf-8")
        Path(folder).chmod(0o755)
        podman("run", "--network=none", DATA, f"--volume={folder}:/notes:ro", IMAGE, *"memory import /notes".split())
    found.append(Bytes("memory, an answer by keyword, without the model", peak(podman, "keyword"), RAM))

    here = [f"--volume={path}:{path}:ro" for path in SETTINGS if Path(path).exists()]
    podman("run", "--network=host", DATA, *here, IMAGE, *"memory model install".split())
    size = podman("run", "--network=none", DATA, IMAGE, "sh", "-c", "du -sb /data/.local/share/memory/models")
    found.append(Bytes("the model, in the volume", int(size.split()[0]), MODEL_BYTES))
    podman("run", "--network=none", DATA, IMAGE, "memory", "embed")
    modes = ("keyword", "hybrid")
    return found + [Bytes(f"memory, an answer in mode {one}, with the model", peak(podman, one), RAM) for one in modes]


def main() -> None:
    parser = argparse.ArgumentParser(description="How large the image is, and its server.")
    parser.add_argument("--quick", action="store_true", help="twenty memories: does the script work?")
    parser.add_argument("--keep", action="store_true", help="write the run to bench/runs/")
    given = parser.parse_args()
    try:
        with built() as podman:
            found = measured(podman, 20 if given.quick else MEMORIES)
    except Unavailable as reason:
        print(f"left out: {reason}")
        return
    print(table(found))
    if given.keep:
        folder = keep(found, {}, setting(), name="image", told=TOLD, shown=table)
        print(f"kept in bench/runs/{folder.name}")


if __name__ == "__main__":
    main()
