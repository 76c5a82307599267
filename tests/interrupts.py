"""Programs that are interrupted when nothing wakes their main thread."""

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from tests.launch.jobs import clean_environ
from tests.places import ROOT
from tests.waiting import PATIENCE, wait_until

SLEEPER = "#!/bin/sh\necho $$ >pid.new\nmv pid.new pid\nexec sleep 600\n"
"""A program that writes its PID and does not end."""
PROGRAM = """\
import signal, sys, threading
{imports}
threading.Thread(target=threading.Event().wait, daemon=True).start()
signal.pthread_sigmask(signal.SIG_BLOCK, {{signal.SIGINT}})
try:
    {body}
except KeyboardInterrupt:
    sys.exit(130)
"""


def assert_unseen_interrupt_ends(imports: str, body: str, folder: Path) -> None:
    """A program that executes `body`, which starts SLEEPER as `folder`/sleeper, is ended by SIGINT with its child.

    Another thread receives the signal. This simulates a signal just before the main thread waits for a lock:
    Python has recorded the signal, but the wait does not end.
    """
    (folder / "sleeper").write_text(SLEEPER)
    (folder / "sleeper").chmod(0o755)
    pid = folder / "pid"
    program = PROGRAM.format(imports=imports, body=body)
    environ = clean_environ({"PYTHONPATH": str(ROOT)})
    with subprocess.Popen([sys.executable, "-c", program], cwd=folder, env=environ) as process:
        try:
            assert wait_until(lambda: pid.exists() or process.poll() is not None)
            process.send_signal(signal.SIGINT)
            assert process.wait(PATIENCE) == 130
            assert wait_until(lambda: not Path("/proc", pid.read_text().strip()).exists())
        finally:
            process.kill()
            with suppress(ProcessLookupError, FileNotFoundError):
                os.kill(int(pid.read_text()), signal.SIGKILL)
