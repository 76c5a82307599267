"""A fake of the part of Ray that `hccl_kit.pod.ray` uses: actors are objects of this process with threads.

RAY_FAKE is JSON: `addresses` of the servers in the order of the bundles; `joined`, how many have joined; `lost`, the
number of a server whose actor is lost. What was asked for is written to the file RAY_FAKE_LOG.
"""

import json
import os
import signal
import sys
import threading
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from pathlib import Path
from typing import Any

from ray import exceptions

FAKE = json.loads(os.environ["RAY_FAKE"])
_here = threading.local()
sys.path.insert(0, "/ray/thirdparty_files")  # as Ray does


def log(**said: Any) -> None:
    with Path(os.environ["RAY_FAKE_LOG"]).open("a", encoding="utf-8") as file:
        file.write(json.dumps(said) + "\n")


def init(address: str) -> None:
    signal.signal(signal.SIGTERM, lambda *_: os._exit(15))  # Ray takes the handler of the driver
    log(address=address, dedup=os.environ.get("RAY_DEDUP_LOGS"))


def get(refs: Any, timeout: float | None = None) -> Any:
    if isinstance(refs, list):
        return [get(one, timeout) for one in refs]
    try:
        return refs.result(timeout)
    except TimeoutError:
        raise exceptions.GetTimeoutError from None


def wait(refs: list[Any], num_returns: int, timeout: float) -> tuple[list[Any], list[Any]]:
    done, left = wait_for(refs, timeout, return_when=FIRST_COMPLETED if num_returns == 1 else "ALL_COMPLETED")
    return [*done], [*left]


class _Method:
    def __init__(self, actor: "_Actor", name: str) -> None:
        self.actor, self.name = actor, name

    def remote(self, *arguments: Any) -> "Future[Any]":
        return self.actor.pool.submit(self.call, *arguments)

    def call(self, *arguments: Any) -> Any:
        if self.name == "run" and FAKE.get("lost") == self.actor.bundle:
            raise exceptions.RayActorError
        _here.address = FAKE["addresses"][self.actor.bundle]
        return getattr(self.actor.object, self.name)(*arguments)


class _Actor:
    def __init__(self, kind: type, options: dict[str, Any]) -> None:
        self.bundle = options["scheduling_strategy"].bundle
        self.pool = ThreadPoolExecutor(options["max_concurrency"])
        self.object = kind()

    def __getattr__(self, name: str) -> _Method:
        return _Method(self, name)


class _Kind:
    def __init__(self, kind: type) -> None:
        self.kind = kind

    def options(self, **options: Any) -> Any:
        strategy = options["scheduling_strategy"]
        log(resources=options["resources"], num_cpus=options["num_cpus"], bundle=strategy.bundle)
        kind = self.kind

        class Remote:
            @staticmethod
            def remote() -> _Actor:
                return _Actor(kind, options)

        return Remote


def remote(kind: type) -> _Kind:
    return _Kind(kind)
