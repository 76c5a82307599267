"""`python -m hccl_kit.agent`, or the agent as one file: an assignment on standard input, a line of JSON.

With --member it is the agent of one of several servers: see `member`.
"""

from __future__ import annotations

import os
import sys

from hccl_kit.agent.assignment import MOST, read
from hccl_kit.agent.member import serve
from hccl_kit.agent.port import PortError
from hccl_kit.agent.supervise import supervise

CANNOT_START = 2


def main() -> int:
    """The program; returns the exit code of the job."""
    for descriptor in (0, 1, 2):  # a closed one would be given to the next file that is opened
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    try:
        if sys.argv[1:] == ["--member"]:
            return serve()
        with open(0, "rb", closefd=False) as given:
            return supervise(read(given.read(MOST).decode())).code
    except (OSError, PortError, ValueError) as error:
        os.write(2, f"error: {error}\n".encode("utf-8", "backslashreplace"))
        return CANNOT_START


if __name__ == "__main__":
    os._exit(main())  # not by a return: the thread of the screen may hang in a write
