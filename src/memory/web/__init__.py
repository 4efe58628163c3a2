"""
The page in the browser, and the command that opens it: forms and lists over what the tools do, on this machine only.

Nothing is decided here. What a form changes is a command (`work`), what a list shows is what the engine answers.
"""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec

from memory.engine.keeper import Keeper
from memory.schema.answer import Notice
from memory.schema.errors import Error
from memory.tools.operation import Call, Given, Option, Shown, command
from memory.tools.render.data import document

PORT = 8378
NEEDED = ("jinja2", "starlette", "uvicorn")


@command(
    "ui",
    Option("--port N", "0 takes a free one.", takes=(0, 65_535), usual=PORT),
    Option("--no-open", "Do not open it in the browser."),
)
def ui(call: Call, a: Given) -> Shown:
    """
    Open a page in the browser to find, read and manage memories. It runs until Ctrl-C, and answers only this machine,
    at the address that it prints.

    \b
        memory ui
        memory ui --no-open --port 0 --json
    """
    if missing := [name for name in NEEDED if find_spec(name) is None]:
        from memory.config.installation import adding

        raise Error(f"the page needs {', '.join(missing)}, not installed", hint=f"Run `{adding('web')}`.")
    from memory.web.server import serve

    keeper = Keeper(call.flags.load, call.flags.file)
    keeper.config()  # settings that cannot be used are reported here

    def ready(url: str) -> None:
        if call.as_json:
            call.person.show(document("ui", {"url": url}))
        else:
            call.person.say(url)
            call.person.tell([Notice("press Ctrl-C to stop")])
        # A browser in the terminal would take the terminal.
        graphical = sys.platform in ("darwin", "win32") or any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY")))
        if graphical and not (a["no_open"] or call.as_json):
            import webbrowser

            webbrowser.open(url)

    serve(keeper, call.flags, port=a["port"], ready=ready)
    return Shown(None, "")


COMMANDS = (ui,)
