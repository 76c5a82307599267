"""`python -m hccl_kit.agent`: the agent of one of several servers, see `member`."""

from __future__ import annotations

import os

from hccl_kit.agent.member import serve

if __name__ == "__main__":
    os._exit(serve())  # not by a return: the thread of the screen may hang in a write
