"""Commands for simulated pods: they record the environment of a rank, or fail in various ways."""

import json
import socket
import subprocess
import sys
from pathlib import Path

from tests.waiting import PATIENCE

HOST = socket.gethostname()
"""The name of a simulated pod."""
SHOW = "import json, os; open(os.environ['RANK_ID'] + '.json', 'w').write(json.dumps(dict(os.environ)))"
"""Every rank writes its environment into the folder of the cluster."""


def command(program: str) -> list[str]:
    return [sys.executable, "-u", "-c", program]


def finish(pod: subprocess.Popen[str]) -> subprocess.CompletedProcess[str]:
    try:
        out, err = pod.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        pod.terminate()  # the pod ends its ranks
        pod.communicate(timeout=PATIENCE)
        raise
    return subprocess.CompletedProcess(pod.args, pod.returncode, out, err)


def printed(done: subprocess.CompletedProcess[str]) -> str:
    """What a pod prints after the line with which the agent begins."""
    begin, _, rest = done.stdout.partition("\n")
    assert ", logs in " in begin, done
    return rest


def told(folder: Path, rank: int) -> dict[str, str]:
    """The environment of a rank that ran SHOW."""
    found: dict[str, str] = json.loads((folder / f"{rank}.json").read_text(encoding="utf-8"))
    return found
