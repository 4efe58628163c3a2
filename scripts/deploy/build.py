"""
Build the image with podman and run it. Where its base cannot be pulled, debootstrap makes one like it: `python:3.13-slim`
is Debian 13 with Python 3.13, too.

    .venv/bin/python scripts/deploy/build.py           builds it; exit code 3 if this machine lacks what it takes
    .venv/bin/python scripts/deploy/build.py --base    only sees whether it has that

tests/image and bench/image.py use `built`. Images are in a temporary folder; a base that was made stays in .venv-image.
"""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "scripts/deploy"
BASES = sorted({*re.findall(r"^FROM (\S+)", (FOLDER / "Dockerfile").read_text("utf-8"), re.MULTILINE)})
MADE = ROOT / ".venv-image"
DEBIAN = "trixie"
PACKAGES = "ca-certificates,python3,python3-venv"
MIRROR = "http://deb.debian.org/debian"
IMAGE = "localhost/memory"
LIMIT = 4096  # files and processes of a container
NO_ENVIRONMENT = 3  # as in scripts/test_more.py

SETTINGS = ("/etc/ssl/certs/ca-certificates.crt", "/etc/pip.conf")
"""What says here where packages come from: the same holds for the build, and leaves nothing in the image."""

AGENT = "--rm --read-only --tmpfs=/tmp --cap-drop=ALL --security-opt=no-new-privileges".split()
"""How the Dockerfile and compose.yaml say that it is run."""


class Unavailable(Exception):
    """The machine lacks something, as the message says."""


class Podman:
    """podman with images, containers and volumes of its own, below a folder."""

    def __init__(self, folder: Path) -> None:
        self._options = ["--root", str(folder / "images"), "--runroot", str(folder / "run")]
        self._options += ["--events-backend", "file", "--cgroup-manager", "cgroupfs"]
        if runtime := shutil.which("runc"):  # crun wants the second version of cgroups alone
            self._options += ["--runtime", runtime]

    def command(self, *words: str) -> list[str]:
        """The words of a command; `run` starts a container as an agent does, with options before them."""
        if words[0] == "run":
            # podman would ask for more than a process may give that has not all rights, and for timers of systemd.
            limits = {"nofile": resource.RLIMIT_NOFILE, "nproc": resource.RLIMIT_NPROC}
            most = {name: min(LIMIT, resource.getrlimit(of)[1] % 2**63) for name, of in limits.items()}
            bounds = [f"--ulimit={name}={value}:{value}" for name, value in most.items()]
            words = ("run", *bounds, "--health-interval=disable", *AGENT, *words[1:])
        return ["podman", *self._options, *words]

    def tried(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(self.command(*words), capture_output=True, text=True, check=False, timeout=900)

    def __call__(self, *words: str) -> str:
        """
        What a command prints.

        Raises:
            RuntimeError: It failed.
        """
        ran = self.tried(*words)
        if ran.returncode:
            raise RuntimeError(f"podman {' '.join(words)}: exit code {ran.returncode}\n{ran.stdout}{ran.stderr}")
        return ran.stdout.strip()

    def bytes(self, image: str = IMAGE) -> int:
        return int(self("image", "inspect", "--format", "{{.Size}}", image))

    def check(self) -> list[str]:
        """The command of the image that tells whether a container is well."""
        kind, *words = json.loads(self("image", "inspect", "--format", "{{json .HealthCheck.Test}}", IMAGE))
        if kind != "CMD":
            raise RuntimeError(f"the health check is {kind}, not CMD")
        return [str(word) for word in words]


@contextmanager
def based() -> Iterator[Podman]:
    """
    The images that the Dockerfile starts from, in a podman of its own. At the end its folder goes, with all that ran.

    Raises:
        Unavailable: There is no podman, or no base can be had.
    """
    if shutil.which("podman") is None:
        raise Unavailable("there is no podman; on Debian: sudo apt install podman runc")
    # On disk, and of a short name: podman takes 50 characters.
    with tempfile.TemporaryDirectory(dir="/var/tmp", ignore_cleanup_errors=True) as folder:
        podman = Podman(Path(folder))
        try:
            for base in BASES:
                name = f"docker.io/library/{base}"
                if podman.tried("pull", name).returncode:
                    podman("import", str(_made(base)), name)
            yield podman
        finally:
            podman.tried("rm", "--all", "--force")
            podman.tried("volume", "rm", "--all", "--force")
            podman.tried("rmi", "--all", "--force")


@contextmanager
def built() -> Iterator[Podman]:
    """
    The image as `IMAGE`, in a podman of its own.

    Raises:
        Unavailable: As above.
        RuntimeError: A step of the build failed.
    """
    with based() as podman:
        here = [f"--volume={path}:{path}:ro" for path in SETTINGS if Path(path).exists()]
        how = ["--pull=never", "--format=docker", "--isolation=chroot", "--network=host", *here]
        file, ignored = (str(FOLDER / name) for name in ("Dockerfile", "Dockerfile.dockerignore"))
        podman("build", *how, f"--ignorefile={ignored}", f"--file={file}", f"--tag={IMAGE}", str(ROOT))
        yield podman


def _made(base: str) -> Path:
    """The root of a Debian with the Python that a base has, as an archive."""
    archive = MADE / f"{base.replace(':', '-')}.tar"
    if archive.exists():
        return archive
    if os.geteuid() or shutil.which("debootstrap") is None:
        raise Unavailable(f"{base} cannot be pulled, and to make one takes root and debootstrap")
    MADE.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="memory-base-") as folder:
        made = Path(folder, "root")
        command = ["debootstrap", "--variant=minbase", f"--include={PACKAGES}", DEBIAN, str(made), MIRROR]
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
        if ran.returncode:
            raise Unavailable(f"debootstrap: {ran.stdout[-500:]}{ran.stderr[-500:]}")
        (made / "usr/bin/python").symlink_to("python3")
        version = subprocess.run(["chroot", made, "python", "--version"], capture_output=True, text=True, check=True)
        wanted = base.partition(":")[2].removesuffix("-slim")
        if not version.stdout.startswith(f"Python {wanted}."):
            raise Unavailable(f"{base} cannot be pulled, and Debian {DEBIAN} has {version.stdout.strip()}")
        for cache in ("var/cache/apt/archives", "var/lib/apt/lists"):
            shutil.rmtree(made / cache)
            (made / cache).mkdir()
        whole = archive.with_suffix(".part")
        subprocess.run(["tar", "--directory", made, "--create", "--file", whole, "."], check=True)
        return whole.rename(archive)


def main() -> int:
    try:
        with based() if sys.argv[1:] == ["--base"] else built() as podman:
            print(podman("images"))
    except Unavailable as reason:
        print(reason, file=sys.stderr)
        return NO_ENVIRONMENT
    return 0


if __name__ == "__main__":
    sys.exit(main())
