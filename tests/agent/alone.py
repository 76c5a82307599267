"""The agent alone, as `hccl-kit run` and a pod have it: it is told its assignment on standard input, as JSON."""

import os
import sys

from hccl_kit.agent.assignment import read
from hccl_kit.agent.port import PortError
from hccl_kit.agent.supervise import supervise

if __name__ == "__main__":
    try:
        code = supervise(read(sys.stdin.read())).code
    except PortError as error:
        sys.exit(f"error: {error}")
    os._exit(code)  # not by a return: the thread of the screen may hang in a write
