"""The private API of MindSpore that hccl_kit/runtime/cpu.py uses. A failure means that a release has changed it."""

import os
import subprocess
import sys
from importlib.util import find_spec

import pytest

PROGRAM = """
import inspect
from datetime import timedelta
from mindspore.communication import management
from mindspore.mint.distributed import TCPStore

limit = timedelta(seconds=1)
inspect.signature(management._init_with_store).bind(timeout=limit, world_size=2, rank=0, store=None)
bound = inspect.signature(TCPStore).bind("127.0.0.1", 1234, 2, True, limit, wait_for_workers=False)
assert list(bound.arguments) == ["host_name", "port", "world_size", "is_master", "timeout", "wait_for_workers"], bound
inspect.signature(TCPStore.add).bind(None, "key", 1)
"""


@pytest.mark.train
@pytest.mark.skipif(not find_spec("mindspore"), reason="needs the extra train")
def test_the_installed_mindspore_has_the_private_api_for_joining_on_cpu() -> None:
    environ = {**os.environ, "GLOG_v": "3"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environ, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
