"""A page in headless Chromium, looked at through its debugging protocol.

::

    with open_page(file) as page:
        page.wait_for("document.body?.dataset.ready === 'true'")
        assert page.evaluate("document.title") == "..."
        assert page.errors == []

The protocol goes through a pipe to the browser (``--remote-debugging-pipe``): messages are JSON
that ends with a zero byte, from us to its file descriptor 3 and back from 4. That is all that is
needed of a driver, so there is no package for it. No host name is known to the browser, and what
it asks for beyond the page's own file is noted in ``requests``.

Protocol: https://chromedevtools.github.io/devtools-protocol/
"""

import base64
import itertools
import json
import os
import select
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.tools import browser, need

ARGUMENTS = (
    "--headless=new",
    "--remote-debugging-pipe",
    "--no-sandbox",  # of which there is none for root and in most containers
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--disable-quic",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    # WebGL without a graphics card
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--ignore-gpu-blocklist",
)
PATIENCE = 120.0  # s, on a machine that does much else


class BrowserError(RuntimeError):
    """The browser is not there, does not answer, or says no."""


class Page:
    """A page that is open."""

    def __init__(self, to_browser: int, from_browser: int) -> None:
        self.errors: list[str] = []  # on the console, and exceptions
        self.requests: list[str] = []  # for anything but the page and what is written in it
        self._own = ""
        self._out, self._in = to_browser, from_browser
        self._buffer = b""
        self._numbers = itertools.count(1)
        self._session: str | None = None
        self._answers: dict[int, dict[str, Any]] = {}
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def show(self, file: Path, width: int, height: int, *, dark: bool = False) -> None:
        """Load a file into a window of a size."""
        self.resize(width, height)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self._own = file.resolve().as_uri()
        self.call("Page.navigate", url=self._own)

    def resize(self, width: int, height: int) -> None:
        """Give the window a size in pixels."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def evaluate(self, expression: str) -> Any:
        """The value of an expression of JavaScript; waits for a promise."""
        found = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in found:
            raise BrowserError(f"{expression}: {found['exceptionDetails']}")
        return found["result"].get("value")

    def wait_for(self, expression: str) -> None:
        """Wait until an expression is true."""
        until = time.monotonic() + PATIENCE
        while not self.evaluate(expression):
            if time.monotonic() > until:
                raise BrowserError(f"{expression} did not become true; {self.errors}")
            time.sleep(0.1)

    def screenshot(self, selector: str | None = None) -> bytes:
        """A PNG of the window, or of the first element that a selector finds.

        The page is scrolled to the element: what lies beyond the window Chromium can take, too, but
        for that it lays out and draws a window as large as the page, for seconds.
        """
        options: dict[str, Any] = {"format": "png"}
        if selector is not None:
            x, y, width, height, wide, high, left, top = self.evaluate(
                f"(e => {{ e.scrollIntoView({{ block: 'center', behavior: 'instant' }});"
                " const r = e.getBoundingClientRect();"
                " return [r.x, r.y, r.width, r.height,"
                " innerWidth, innerHeight, scrollX, scrollY] })"
                f"(document.querySelector({json.dumps(selector)}))"
            )
            is_within = x >= 0.0 and y >= 0.0 and x + width <= wide and y + height <= high
            clip = {"x": x + left, "y": y + top, "width": width, "height": height, "scale": 1}
            options |= {"clip": clip, "captureBeyondViewport": not is_within}
        return base64.b64decode(self.call("Page.captureScreenshot", **options)["data"])

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Call a method of the protocol and wait for its answer."""
        number = next(self._numbers)
        message: dict[str, Any] = {"id": number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + PATIENCE
        while number not in self._answers:
            self._take(until, method)
        answer = self._answers.pop(number)
        if "error" in answer:
            raise BrowserError(f"{method}: {answer['error']}")
        return dict(answer["result"])

    def _take(self, until: float, waiting_for: str) -> None:
        """Take in what comes next, answers and events."""
        ready, _, _ = select.select([self._in], [], [], max(0.0, until - time.monotonic()))
        content = os.read(self._in, 1 << 20) if ready else b""
        if not content:
            reason = "ended" if ready else "did not answer"
            raise BrowserError(f"the browser {reason} at {waiting_for}")
        *messages, self._buffer = (self._buffer + content).split(b"\0")
        for message in map(json.loads, messages):
            if "id" in message:
                self._answers[message["id"]] = message
            else:
                self._note(message["method"], message.get("params", {}))

    def _note(self, event: str, about: dict[str, Any]) -> None:
        if event == "Runtime.consoleAPICalled" and about["type"] in ("error", "assert"):
            texts = [str(part.get("value", part.get("description"))) for part in about["args"]]
            self.errors.append(f"console.{about['type']}: {' '.join(texts)}")
        elif event == "Runtime.exceptionThrown":
            self.errors.append(f"exception: {about['exceptionDetails']}")
        elif event == "Log.entryAdded" and about["entry"]["level"] == "error":
            self.errors.append(f"log: {about['entry']['text']}")
        elif event == "Network.requestWillBeSent":
            url = about["request"]["url"]
            if not url.startswith(("data:", "blob:")) and url != self._own:
                self.requests.append(url)


@contextmanager
def open_page(
    file: Path, width: int = 1366, height: int = 768, *, dark: bool = False
) -> Iterator[Page]:
    """A file in a browser of its own, without network, profile or history."""
    need("Chromium")
    command = [str(browser()), *ARGUMENTS]
    with tempfile.TemporaryDirectory(prefix="browser-", ignore_cleanup_errors=True) as profile:
        command += [f"--user-data-dir={profile}", f"--window-size={width},{height}"]
        read_end, to_browser = os.pipe()
        from_browser, write_end = os.pipe()
        process = _started(command, read_end, write_end)
        os.close(read_end)
        os.close(write_end)
        try:
            page = Page(to_browser, from_browser)
            page.show(file, width, height, dark=dark)
            yield page
        finally:
            os.close(to_browser)  # at which it ends
            _end(process)
            os.close(from_browser)


def _started(command: list[str], read_end: int, write_end: int) -> "subprocess.Popen[bytes]":
    """The browser with the pipes at its file descriptors 3 and 4."""
    # A shell that knows descriptors above 9 puts them there: Popen hands descriptors on with
    # the numbers that they have.
    redirected = f'exec "$@" 3<&{read_end} 4>&{write_end}'
    return subprocess.Popen(
        ["bash", "-c", redirected, "browser", *command],
        pass_fds=(read_end, write_end),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def _end(process: "subprocess.Popen[bytes]") -> None:
    try:
        process.wait(timeout=10.0)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
