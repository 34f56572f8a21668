"""The web pages on a server of this machine, and a window of Chromium that opens
one."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Page

from tests.browser.servers import PATIENCE

DRAWN = "() => !document.querySelector('figure.play:not([data-ready])')"


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        """Print nothing."""


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve the files of a folder on loopback; yield the address."""
    with ThreadingHTTPServer(
        ("127.0.0.1", 0), partial(Quiet, directory=folder)
    ) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{running.server_port}"
        running.shutdown()


@contextmanager
def visited(
    browser: Browser, url: str, **options: Any
) -> Iterator[tuple[Page, list[str]]]:
    """Open a page in a window of its own; yield it and the errors of its console."""
    plays = options.get("java_script_enabled", True)
    with (
        browser.new_context(**options) as window,
        visiting(window, url, plays) as shown,
    ):
        yield shown


@contextmanager
def visiting(
    window: BrowserContext, url: str, plays: bool = True
) -> Iterator[tuple[Page, list[str]]]:
    """Open a page in a window; yield it, once it `plays`, and the errors of its
    console."""
    page = window.new_page()
    errors = list[str]()
    page.set_default_timeout(PATIENCE * 1000)
    page.on("console", lambda each: each.type == "error" and errors.append(each.text))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("requestfailed", lambda request: errors.append(request.url))
    page.goto(url, wait_until="load")
    if plays:
        page.wait_for_function(DRAWN)
    yield page, errors
