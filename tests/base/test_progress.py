"""Progress display in real processes whose stderr is a terminal, a file or closed."""

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from tests.places import ROOT

PROGRAM = """
import sys
from hccl_kit.base import progress
progress.DELAY = progress.INTERVAL = {wait}
with progress.track("abc", 3, "reading letters", quiet={quiet}) as tracked:
    for letter in tracked:
        print(letter)
        {body}
print("tqdm" in sys.modules)
"""


def test_control_characters_of_a_name_do_not_reach_the_screen() -> None:
    program = "from hccl_kit.base import progress\nprogress.say('wrote: a\\x1b[31m\\u202e\\tb\\nnext')"
    assert (
        started(program, terminal=False)[1]
        == "wrote: a\N{REPLACEMENT CHARACTER}[31m\N{REPLACEMENT CHARACTER}\tb\nnext\n"
    )


@pytest.mark.parametrize("call", ["say('text', sys.stdout)", "flush(sys.stdout)"])
def test_an_error_on_a_full_standard_output_names_it(call: str) -> None:
    program = f"""
import sys
from hccl_kit.base import progress
from hccl_kit.base.errors import KitError
print("before")
try:
    progress.{call}
except KitError as error:
    sys.exit(error.render())
"""
    command, environ = [sys.executable, "-c", program], {**os.environ, "PYTHONUNBUFFERED": ""}
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, cwd=ROOT, env=environ, check=False)
    assert done.stderr.decode().splitlines()[0] == "error: standard output: No space left on device"


def run(*, wait: float = 0, quiet: bool = False, body: str = "pass", terminal: bool = False) -> tuple[str, str]:
    """Returns the standard output and the standard error."""
    return started(PROGRAM.format(wait=wait, quiet=quiet, body=body), terminal=terminal)


def started(program: str, *, terminal: bool) -> tuple[str, str]:
    """Like `run`, for any program."""
    argv = [sys.executable, "-c", program]
    environ = os.environ | {"PYTHONPATH": str(ROOT)}
    if not terminal:
        done = subprocess.run(argv, capture_output=True, text=True, env=environ, check=False, timeout=300)
        return done.stdout, done.stderr
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=theirs, text=True, env=environ, check=False, timeout=300)
    os.close(theirs)
    shown = b""
    while chunk := _read(ours):
        shown += chunk
    os.close(ours)
    return done.stdout, shown.decode()


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 4096)
    except OSError:  # EIO: the other end is closed, and everything has been read
        return b""


def last_line(shown: str) -> str:
    """The last line that a terminal shows after it has interpreted the carriage returns."""
    row = ""
    for part in shown.rstrip("\r\n").split("\r"):
        row = part + row[len(part) :]
    return row.rstrip()


def test_a_terminal_shows_a_bar_that_disappears() -> None:
    out, shown = run(terminal=True)
    assert out == "a\nb\nc\nTrue\n"
    assert "reading letters" in shown
    assert "0/3" in shown
    assert last_line(shown) == ""


def test_an_error_follows_on_a_line_of_its_own() -> None:
    _, shown = run(terminal=True, body="raise SystemExit('error: no more letters')")
    assert "reading letters" in shown
    assert last_line(shown) == "error: no more letters"


def test_a_warning_does_not_run_into_the_bar() -> None:
    _, shown = run(terminal=True, body="progress.say('warning: ' + letter)")
    lines = [last_line(line) for line in shown.split("\n")]
    assert [line for line in lines if "warning" in line] == ["warning: a", "warning: b", "warning: c"]


def test_a_final_message_has_its_own_line() -> None:
    body = "import os; os.write(2, f'{progress.line_break()}interrupted'.encode()); os._exit(130)"
    _, shown = run(terminal=True, body=body)
    assert "reading letters" in shown
    assert shown.split("\n")[-1] == "interrupted"
    assert run(body=body)[1] == "interrupted"


def test_a_log_gets_lines_and_no_bar() -> None:
    out, shown = run()
    assert out == "a\nb\nc\nFalse\n"
    assert shown == "reading letters: 1 of 3, about 0 s left\nreading letters: 2 of 3, about 0 s left\n"


def test_the_time_that_is_left_is_not_estimated_by_few_items() -> None:
    program = """
from hccl_kit.base import progress
progress.INTERVAL = 0
with progress.track(range(30), 30, "asking") as tracked:
    list(tracked)
"""
    lines = started(program, terminal=False)[1].splitlines()
    assert lines[:3] == ["asking: 1 of 30", "asking: 2 of 30", "asking: 3 of 30, about 0 s left"]


def test_quick_work_shows_nothing_and_imports_no_module() -> None:
    for terminal in (False, True):
        assert run(wait=60, terminal=terminal) == ("a\nb\nc\nFalse\n", "")


def test_quiet_work_shows_nothing() -> None:
    for terminal in (False, True):
        assert run(quiet=True, terminal=terminal) == ("a\nb\nc\nFalse\n", "")


def test_a_process_without_stderr_works() -> None:
    assert run(body="sys.stderr = None; progress.say('nowhere')")[0] == "a\nb\nc\nFalse\n"
    code = PROGRAM.format(wait=0, quiet=False, body="pass")
    argv = ["bash", "-c", 'exec "$0" -c "$1" 2>&-', sys.executable, code]
    done = subprocess.run(argv, capture_output=True, text=True, env=os.environ | {"PYTHONPATH": str(ROOT)}, check=True)
    assert done.stdout == "a\nb\nc\nFalse\n"


REPORTED = """
from hccl_kit.base import progress
progress.DELAY = progress.INTERVAL = {wait}
with progress.show_progress("reading logs") as show:
    for done in (0, 250, 500):
        show(done, 500)
print("tqdm" in __import__("sys").modules)
"""


def test_work_with_callbacks_has_a_bar_on_a_terminal() -> None:
    out, shown = started(REPORTED.format(wait=0), terminal=True)
    assert out == "True\n"
    assert "reading logs:   0%" in shown
    assert last_line(shown) == ""


def test_work_with_callbacks_has_lines_in_a_log() -> None:
    assert started(REPORTED.format(wait=0), terminal=False) == (
        "False\n",
        "reading logs: 0 %\nreading logs: 50 %\nreading logs: 100 %\n",
    )
    assert started(REPORTED.format(wait=60), terminal=False) == ("False\n", "")
