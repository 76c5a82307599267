"""Two real ranks, started as by ModelArts, train the small CRNN; the table is written while they wait."""

import json
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.distributed.jobs import PATIENCE, Job

pytestmark = pytest.mark.train


@pytest.mark.long
def test_two_ranks_train_with_a_table_that_is_written_later(job: Job) -> None:
    folder = job.folder / "config"
    folder.mkdir()
    file = folder / "jobstart_hccl.json"
    file.write_text('{"status": "initializing"}', encoding="utf-8")
    processes = [
        job.start(job.train("train.max_steps=5"), on_modelarts(folder, RANK_ID=str(rank), ASCEND_DEVICE_ID=str(rank)))
        for rank in range(2)
    ]
    time.sleep(3)
    assert all(process.poll() is None for process in processes)
    write_at_once(file, two_cards(str(job.folder)))
    end = time.monotonic() + PATIENCE
    for rank, process in enumerate(processes):
        done = job.finish(process, end - time.monotonic())
        assert done.returncode == 0, done.stdout + done.stderr
        log = (job.folder / "run" / f"log_{rank}.txt").read_text(encoding="utf-8")
        sign = f"VC_TASK_INDEX=0 RANK_TABLE_FILE={folder}"
        assert f"launcher modelarts (the environment holds {sign}): rank {rank} of 2 on CPU" in log
    assert (job.summary["world_size"], job.summary["ranks_equal"]) == (2, True)


def on_modelarts(folder: Path, **more: str) -> Mapping[str, str]:
    return {
        "VC_TASK_INDEX": "0",
        "MA_CURRENT_INSTANCE_NAME": "job-0",
        "RANK_TABLE_FILE": str(folder),
        "RANK_SIZE": "2",
        **more,
    }


def two_cards(group: str) -> str:
    """Template 2; the group name makes the file, and therefore the port, unique to this test."""
    devices = [{"device_id": str(card), "device_ip": f"192.0.2.{card}"} for card in (4, 5)]
    pod = {"devices": devices, "pod_name": "job-0", "server_id": "192.168.0.25"}
    groups = [{"device_count": "2", "group_name": group, "instance_count": "1", "instance_list": [pod]}]
    return json.dumps({"group_count": "1", "group_list": groups, "status": "completed"})


def write_at_once(path: Path, text: str) -> None:
    path.with_suffix(".new").write_text(text, encoding="utf-8")
    path.with_suffix(".new").replace(path)
