"""A page in a real headless Chromium, controlled through its debugging pipe; no driver or package is needed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
TIMEOUT = 120.0
REPLACED = -32000
"""Error code of the browser if the page was replaced during a call."""


class Page:
    """The open page: its requests, its errors and warnings, and its elements."""

    def __init__(self, to: int, back: int) -> None:
        self._to, self._back, self._rest, self._number = to, back, b"", 0
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []

    def open(self, path: Path, *, dark: bool = False) -> None:
        """Load a file into a new tab and wait until it is loaded."""
        self.new_tab(dark=dark)
        self.call("Page.navigate", url=path.as_uri())
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            self._take()

    def new_tab(self, *, dark: bool = False) -> None:
        """Continue in a new empty tab."""
        self._session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.events.clear()

    def wait(self, condition: Callable[[], bool]) -> None:
        """Wait for a condition that the page causes."""
        end = time.monotonic() + TIMEOUT
        while not condition():
            assert time.monotonic() < end
            self.value("1")  # processes the events
            time.sleep(0.05)

    def value(self, expression: str) -> Any:
        """The value of an expression on the page. The debugger may run it although the page may not run scripts.

        It is evaluated again if the page is reloaded meanwhile.
        """
        end = time.monotonic() + TIMEOUT
        while "error" in (answer := self._answer("Runtime.evaluate", expression=expression, returnByValue=True)):
            assert answer["error"]["code"] == REPLACED, answer
            assert time.monotonic() < end, answer
        assert "exceptionDetails" not in answer["result"], answer
        return answer["result"]["result"].get("value")

    def count(self, selector: str) -> int:
        """The number of elements."""
        found: int = self.value(f"document.querySelectorAll({json.dumps(selector)}).length")
        return found

    @property
    def requests(self) -> list[str]:
        """The requested addresses, including that of the page."""
        sent = [event for event in self.events if event["method"] == "Network.requestWillBeSent"]
        return [event["params"]["request"]["url"] for event in sent]

    @property
    def complaints(self) -> list[str]:
        """Errors, warnings, policy violations, output of scripts, dialogs."""
        told = ("Log.entryAdded", "Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Page.javascriptDialogOpening")
        return [json.dumps(event["params"]) for event in self.events if event["method"] in told]

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a command and wait for its result."""
        answer = self._answer(method, **params)
        assert "error" not in answer, answer
        result: dict[str, Any] = answer["result"]
        return result

    def _answer(self, method: str, **params: Any) -> dict[str, Any]:
        self._number += 1
        command: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self._session:
            command["sessionId"] = self._session
        os.write(self._to, json.dumps(command).encode() + b"\0")
        while (answer := self._take()).get("id") != self._number:
            pass
        return answer

    def _take(self) -> dict[str, Any]:
        """The next message; events are stored."""
        end = time.monotonic() + TIMEOUT
        while b"\0" not in self._rest:
            chunk = os.read(self._back, 1 << 20)
            assert chunk, "the browser has ended"
            assert time.monotonic() < end
            self._rest += chunk
        text, self._rest = self._rest.split(b"\0", 1)
        message: dict[str, Any] = json.loads(text)
        if "method" in message:
            self.events.append(message)
        return message


@contextmanager
def browser() -> Iterator[Page]:
    """A Chromium with an empty profile, which is closed at the end of the block."""
    assert CHROMIUM
    commands, to = os.pipe()
    back, answers = os.pipe()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = [
            CHROMIUM,
            "--headless",
            "--no-sandbox",  # tests may run as root
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--disable-background-networking",
            "--disable-component-update",
            "--no-first-run",
            f"--user-data-dir={profile}",
            "--remote-debugging-pipe",
        ]
        # The browser reads and writes the pipe on descriptors 3 and 4.
        shell = f'exec 3<&{commands} 4>&{answers}; exec "$@"'
        process = subprocess.Popen(
            ["bash", "-c", shell, "bash", *command],
            pass_fds=(commands, answers),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(commands)
        os.close(answers)
        try:
            yield Page(to, back)
        finally:
            os.close(to)
            process.terminate()
            process.wait(timeout=30)
            os.close(back)
