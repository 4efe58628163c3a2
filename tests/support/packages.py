"""Wheels made here, and an index of packages on this machine that pip and uv ask."""

from __future__ import annotations

import base64
import hashlib
import os
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def wheel(folder: Path, name: str, version: str, files: Mapping[str, bytes]) -> Path:
    """A wheel of pure Python with these files, which need not be sensible."""
    info = f"{name}-{version}.dist-info"
    files = {
        **files,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n".encode(),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{one},sha256={_digest(content)},{len(content)}\n" for one, content in files.items())
    path = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for one, content in files.items():
            archive.writestr(one, content)
        archive.writestr(f"{info}/RECORD", f"{record}{info}/RECORD,,\n")
    return path


def _digest(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


class Index:
    """
    An index of packages as https://peps.python.org/pep-0503/ has it, of the wheels in a folder.

    Attributes:
        asked: The paths that were asked for, in order.
        slow: While it is set, half of a wheel is sent, and the rest never comes.
        halfway: Set when half of a wheel was sent.
    """

    def __init__(self, folder: Path) -> None:
        self.folder, self.asked = folder, list[str]()
        self.slow, self.halfway, self._over = threading.Event(), threading.Event(), threading.Event()
        index = self

        class Answer(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                index.asked.append(self.path)
                content = index.answer(self.path)
                self.send_response(404 if content is None else 200)
                self.send_header("Content-Type", "text/html" if self.path.endswith("/") else "application/zip")
                self.send_header("Content-Length", str(len(content or b"")))
                self.end_headers()
                if index.slow.is_set() and self.path.endswith(".whl"):
                    half = len(content or b"") // 2
                    self.wfile.write((content or b"")[:half])
                    self.wfile.flush()
                    index.halfway.set()
                    index._over.wait()
                else:
                    self.wfile.write(content or b"")

            def log_message(self, format: str, *arguments: object) -> None:
                """The tests look at `asked`."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def answer(self, path: str) -> bytes | None:
        wheels = sorted(self.folder.glob("*.whl"))
        if path.endswith("/"):
            wanted = path.strip("/").rpartition("/")[2].replace("-", "_")
            links = [f'<a href="/{one.name}">{one.name}</a>' for one in wheels if one.name.startswith(f"{wanted}-")]
            return f"<!DOCTYPE html><html><body>{''.join(links)}</body></html>".encode() if links else None
        return next((one.read_bytes() for one in wheels if one.name == path.strip("/")), None)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/simple/"

    @property
    def env(self) -> dict[str, str]:
        """The environment of a pip or a uv that knows this index and no other."""
        return of_index(self.url)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._server.shutdown()
        self._server.server_close()


def of_index(url: str) -> dict[str, str]:
    """The environment of a pip or a uv that knows one index, and nothing of this machine's settings."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "UV_"))}
    own = {"PIP_INDEX_URL": url, "PIP_CONFIG_FILE": os.devnull, "UV_DEFAULT_INDEX": url, "UV_NO_CONFIG": "1"}
    return kept | own | {"NO_PROXY": "127.0.0.1", "UV_HTTP_RETRIES": "0", "UV_PYTHON_DOWNLOADS": "never"}
