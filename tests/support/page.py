"""`memory ui` in a process of its own, and requests to it as a browser, or somebody else, would send them."""

from __future__ import annotations

import http.client
import json
import re
import signal
import subprocess
import time
from contextlib import contextmanager
from html import unescape
from html.parser import HTMLParser
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlencode

from command import COMMAND, Shell

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

SECONDS = 60


class Got(NamedTuple):
    status: int
    headers: dict[str, str]
    text: str

    @property
    def words(self) -> str:
        """What a person reads of the page."""
        return " ".join(unescape(re.sub(r"<[^>]*>", " ", self.text)).split())


class _Structure(HTMLParser):
    """Tags and the names of their attributes; values only of those that lead somewhere, or do something."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[object] = []

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, [name for name, _ in attrs]))

    def handle_endtag(self, tag):
        self.found.append(tag)


def structure(text: str) -> list[object]:
    """What a page consists of, without its texts."""
    parser = _Structure()
    parser.feed(text)
    return parser.found


class Ui:
    """
    A running server.

    Attributes:
        url: As it was printed, with the token.
        cookie: What that is exchanged for.
    """

    def __init__(self, shell: Shell, process: subprocess.Popen[str], url: str) -> None:
        self.shell, self.process, self.url = shell, process, url
        self.port = int(url.split(":")[2].split("/", maxsplit=1)[0])
        self.own = f"http://127.0.0.1:{self.port}"
        entered = self.raw("GET", url.removeprefix(self.own))
        self.cookie = entered.headers["set-cookie"].partition(";")[0]

    def raw(self, method: str, path: str, headers: Mapping[str, str] | None = None, body: str = "") -> Got:
        """A request with these headers and no others but Host."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=SECONDS)
        sent = {"Host": f"127.0.0.1:{self.port}"} | dict(headers or {})
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for name, value in (sent | {"Content-Length": str(len(body.encode()))}).items():
            connection.putheader(name, value)
        connection.endheaders(body.encode())
        answer = connection.getresponse()
        got = Got(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read().decode())
        connection.close()
        return got

    def get(self, path: str, **headers: str) -> Got:
        return self.raw("GET", path, {"Cookie": self.cookie} | {k.replace("_", "-"): v for k, v in headers.items()})

    def post(self, path: str, /, **fields: object) -> Got:
        """A form sent by the page itself, with where that leads, and the end of what that shows under way."""
        sent = {"Cookie": self.cookie, "Origin": self.own, "Content-Type": "application/x-www-form-urlencoded"}
        answer = self.raw("POST", path, sent, urlencode(fields, doseq=True))
        if answer.status != 303:
            return answer
        while "<progress " in (shown := self.get(answer.headers["location"])).text:
            time.sleep(0.02)
        return shown


def shell(folder, **settings: str) -> Shell:
    work = folder / "shop"
    work.mkdir(parents=True)
    return Shell(folder / "home", work, settings)


@contextmanager
def serving(shell: Shell, *options: str) -> Iterator[Ui]:
    """A server of this shell's memories, ended by Ctrl-C."""
    command = [COMMAND, "ui", "--no-open", "--json", *(options or ("--port", "0"))]
    with subprocess.Popen(
        command, env=shell.env, cwd=shell.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            line = process.stdout.readline()
            assert line, process.stderr.read()
            yield Ui(shell, process, json.loads(line)["url"])
        finally:
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=SECONDS)
            assert "Traceback" not in errors, errors
