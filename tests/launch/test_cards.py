"""Which cards the ranks of a script take: a program that does what torch's `set_device(LOCAL_RANK)` does."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from hccl_kit.launch.emitters import emit
from hccl_kit.runtime.worker_env import THREADS, VISIBLE_DEVICES
from tests.lab.hosts import Hosts, hosts, needs_hosts
from tests.launch.jobs import clean_environ, finish
from tests.launch.ways import planned, servers, write
from tests.places import ROOT

CARDS = 8
"""Of every server."""
TAKE = f"""
import json, os, socket
shown = os.environ.get("{VISIBLE_DEVICES}")
seen = list(map(int, shown.split(","))) if shown else list(range({CARDS}))
assert seen == sorted(set(seen)), "CANN refuses it"
local, device = int(os.environ["LOCAL_RANK"]), int(os.environ.get("DEVICE_ID", "-1"))
told = {{"card": seen[local], "by_id": seen[device], "host": socket.gethostname(), "environ": dict(os.environ)}}
with open(f"took_{{os.environ['RANK']}}.json", "w") as file:
    json.dump(told, file)
"""
"""Writes the card that torch takes for LOCAL_RANK, and the one that DEVICE_ID names."""


def took(folder: Path, name: str = "card") -> list[Any]:
    """What every rank has told, in the order of the ranks."""
    ranks = range(len(list(folder.glob("took_*.json"))))
    return [json.loads((folder / f"took_{rank}.json").read_text())[name] for rank in ranks]


def variables(folder: Path, *names: str) -> list[tuple[str | None, ...]]:
    """These variables of every rank."""
    return [tuple(environ.get(name) for name in names) for environ in took(folder, "environ")]


def generated(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Write table and script of TAKE into a folder."""
    folder.mkdir(exist_ok=True)
    (folder / "take.py").write_text(TAKE)
    command = [sys.executable, "-m", "hccl_kit.cli.gen", "--product", "a2", "--simulate", *options, "--"]
    environ = {**clean_environ(), "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [*command, sys.executable, "take.py"], check=True, cwd=folder, env=environ, capture_output=True, text=True
    )


def started(folder: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    (script,) = folder.glob("*p.sh")
    return subprocess.run(
        ["bash", script], check=False, cwd=folder, env=clean_environ(environ), capture_output=True, text=True
    )


def test_two_jobs_of_torch_on_one_server_take_their_own_cards(tmp_path: Path) -> None:
    for cards in ("[0,4)", "[4,8)"):
        folder = tmp_path / cards
        assert generated(folder, "--device_num", cards, "--framework", "pytorch").stderr == ""
        done = started(folder)
        assert done.returncode == 0, done.stderr
    assert took(tmp_path / "[0,4)") == took(tmp_path / "[0,4)", "by_id") == [0, 1, 2, 3]
    assert took(tmp_path / "[4,8)") == took(tmp_path / "[4,8)", "by_id") == [4, 5, 6, 7]


def test_without_a_framework_a_note_says_which_cards_torch_would_take(tmp_path: Path) -> None:
    said = generated(tmp_path, "--device_num", "2,3").stderr
    assert said == (
        'note: programs of torch would take cards 0, 1 of server "127.0.0.1", not 2, 3; if yours is one: --framework'
        " pytorch\n"
    )
    assert generated(tmp_path, "--device_num", "2,3", "--framework", "mindspore", "--force").stderr == ""
    assert generated(tmp_path / "first", "--device_num", "[0,2)").stderr == ""
    for framework, noted in (((), said), (("--framework", "pytorch"), ""), (("--framework", "mindspore"), "")):
        for launcher in ("bash", "slurm"):
            done = launched(tmp_path, launcher, *framework)
            assert (done.returncode, done.stderr) == (0, noted)
    assert launched(tmp_path, "mpirun").stderr == ""  # its ranks see the cards of the table only


def launched(folder: Path, launcher: str, *options: str) -> subprocess.CompletedProcess[str]:
    """hccl-kit launch for the table in a folder."""
    (table,) = folder.glob("*.json")
    kit = [sys.executable, "-m", "hccl_kit.cli.kit", "launch", str(table), "--to", launcher]
    command = [*kit, "-o", str(folder), "--force", *options, "--", "true"]
    return subprocess.run(command, check=False, env=clean_environ(), cwd=ROOT, capture_output=True, text=True)


@pytest.mark.parametrize("launcher", ["msrun", "vllm"])
def test_a_launcher_of_another_framework_is_refused(launcher: str, tmp_path: Path) -> None:
    generated(tmp_path, "--device_num", "[0,2)")
    done = launched(tmp_path, launcher, "--framework", "pytorch")
    assert done.returncode == 2
    assert done.stderr.startswith("error: --framework pytorch is for --to bash, mpirun, slurm, ")
    assert f"not for --to {launcher}" in done.stderr


def test_the_cards_that_the_user_has_set_are_kept_or_refused(tmp_path: Path) -> None:
    generated(tmp_path, "--device_num", "[4,6)", "--framework", "pytorch")
    assert started(tmp_path, **{VISIBLE_DEVICES: "4,5"}).returncode == 0
    assert took(tmp_path) == [4, 5]
    for other in ("4,5,6", "5,4", "4, 5", "0,1", ""):
        done = started(tmp_path, **{VISIBLE_DEVICES: other})
        assert done.returncode == 2
        assert done.stderr == f"error: {VISIBLE_DEVICES}={other}; the cards of this job are 4,5\n"


def test_without_a_framework_the_cards_that_the_user_has_set_are_removed_with_a_note(tmp_path: Path) -> None:
    generated(tmp_path, "--device_num", "[4,6)")
    done = started(tmp_path, **{VISIBLE_DEVICES: "4,5"})
    assert done.returncode == 0
    assert done.stderr == f"note: {VISIBLE_DEVICES}=4,5 is removed; torch needs --framework pytorch\n"
    assert took(tmp_path, "by_id") == [4, 5]


@pytest.fixture(scope="module")
def lab() -> Iterator[Hosts]:
    with hosts(2) as made:
        yield made


def on_two_hosts(folder: Path, lab: Hosts, *devices: Sequence[int]) -> Path:
    """The script of a job of torch with these cards of each host."""
    (folder / "take.py").write_text(TAKE)
    made, table = planned(servers(*devices, ids=lab.addresses), sys.executable, "take.py", framework="pytorch")
    (folder / table.name).write_text(table.text)
    return write(folder, emit("bash", made, table))


@needs_hosts
def test_every_server_finds_its_cards_and_its_number_by_its_addresses(tmp_path: Path, lab: Hosts) -> None:
    script = on_two_hosts(tmp_path, lab, (4, 5, 6), (0, 7))
    for host, environ in enumerate(({}, {VISIBLE_DEVICES: "0,7"})):
        done = finish(lab.start(host, ["bash", script], environ=clean_environ(environ), folder=tmp_path))
        assert (done.returncode, done.stderr) == (0, "")
    assert took(tmp_path) == took(tmp_path, "by_id") == [4, 5, 6, 0, 7]
    assert variables(tmp_path, "NODE_RANK", "GROUP_RANK") == [("0", "0")] * 3 + [("1", "1")] * 2
    assert len(set(variables(tmp_path, "TORCHELASTIC_RUN_ID"))) == 1
    wrong = clean_environ({VISIBLE_DEVICES: "0,7"})
    done = finish(lab.start(0, ["bash", script], environ=wrong, folder=tmp_path))
    assert done.returncode == 2
    assert done.stderr == f"error: {VISIBLE_DEVICES}=0,7; the cards of this job are 4,5,6\n"


def test_ranks_share_the_cores_of_their_server_unless_the_user_has_set_the_threads(tmp_path: Path) -> None:
    cores = sorted(os.sched_getaffinity(0))
    for ranks, allowed in ((1, cores), (2, cores), (4, cores[:1])):
        folder = tmp_path / f"{ranks}_{len(allowed)}"
        generated(folder, "--device_num", f"[0,{ranks})")
        (script,) = folder.glob("*.sh")
        limited = ["taskset", "-c", ",".join(map(str, allowed)), "bash", str(script)]
        done = subprocess.run(limited, check=True, cwd=folder, env=clean_environ(), capture_output=True, text=True)
        share = str(max(1, len(allowed) // ranks))
        assert variables(folder, THREADS) == [(share,)] * ranks
        assert f", {THREADS}={share}, logs in " in done.stdout
        kept = started(folder, **{THREADS: "7"})
        assert variables(folder, THREADS) == [("7",)] * ranks
        assert f", {THREADS}=7, logs in " in kept.stdout
