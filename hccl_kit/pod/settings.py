"""What the manifest says about the job, as JSON in a ConfigMap."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from hccl_kit.agent.texts import ENGLISH

if TYPE_CHECKING:
    from hccl_kit.agent.texts import Texts


class PodError(Exception):
    """Why the ranks cannot start, and the next step."""


class Settings(NamedTuple):
    """The name of the `job`, and where its ranks come from: a key of `SOURCES` in `__main__`.

    The kit that wrote the manifest knows the names of variables: `names` are those of each field of a worker, `run_id`
    those of the run, `unset` is what is removed from the environment of the pod, `timeout` has the seconds to wait for
    a table or for the address of pod 0. `log_dir`, `threads`, `defaults` and `texts` are as in the Assignment.

    `pods`: how many the job has, with `cards` each; rank 0 listens at `port`. `controller` sets the variables
    `pod_index` (of this pod), `address` (of pod 0) and `pod_count` (unless it is empty). `scheduler`: pod 0 also runs
    the scheduler of MindSpore. `limits_cards`: the variable for visible cards lists those of the pod, which a container
    numbers from 0.

    `table` is the path of the rank table (".gz": compressed), `server` the variable with the address of this host.

    `logs` is the folder for the logs of all pods; "": a temporary one. `kit_version` is the version that the image must
    have; "": the program is part of the manifest. `command` and `ray_resource`, the name of the cards in Ray, are those
    of a RayJob.
    """

    job: str
    source: str
    pods: int
    cards: int
    names: Mapping[str, Sequence[str]]
    run_id: Sequence[str]
    unset: Sequence[str]
    log_dir: str
    threads: str
    timeout: str
    defaults: Sequence[tuple[str, str, tuple[str, ...], bool]]
    port: int = 0
    controller: str = ""
    pod_index: str = ""
    address: str = ""
    pod_count: str = ""
    scheduler: bool = False
    limits_cards: bool = False
    table: str = ""
    server: str = ""
    logs: str = ""
    kit_version: str = ""
    ray_resource: str = ""
    command: Sequence[str] = ()
    texts: Texts = ENGLISH

    def to_json(self) -> str:
        """An entry on each line; what is left out has its default."""
        rows = [
            f"  {json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}"
            for name, value in self._asdict().items()
            if value != self._field_defaults.get(name)
        ]
        return "{\n" + ",\n".join(rows) + "\n}\n"

    def variables(self, **fields: object) -> dict[str, str]:
        """The variables of a rank, under every name that a framework reads."""
        return {name: str(value) for field, value in fields.items() for name in self.names[field]}


def read(path: str) -> Settings:
    """The settings in a file. Raises PodError."""
    try:
        with open(path, encoding="utf-8") as file:
            given = json.load(file)
        numbers = {name: int(given[name]) for name in ("pods", "cards", "port") if name in given}
        return Settings(**{**given, **numbers})
    except (KeyError, OSError, TypeError, ValueError) as error:
        raise PodError(f"{path} is not the description of a job: {error}") from None
