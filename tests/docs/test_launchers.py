"""The commands of the launch page are run exactly as documented, for each launcher, on hosts of a lab."""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml

from hccl_kit.table import formats
from tests.lab.hosts import Hosts, hosts, needs_hosts
from tests.lab.slurm import cluster, needs_slurm
from tests.launch.jobs import clean_environ, finish
from tests.launch.nodes import table_of
from tests.places import ROOT

TABLE = "hccl_2s_4p.json"
PAGES = ("docs/launch.md", "docs/zh/launch.md")
TRAIN = """
import os, sys
sys.path.insert(0, {root!r})
from hccl_kit.runtime.detect import detect
from hccl_kit.runtime.worker_env import card_or_none
env = detect(os.environ).env
with open(f"rank_{{env.rank}}", "w") as file:
    file.write(f"{{env.size}} {{env.local_rank}} {{card_or_none(os.environ, env)}}")
"""
PROGRAMS = {"hccl-kit": "hccl_kit.cli.kit", "hccl-gen": "hccl_kit.cli.gen"}


def shown(launcher: str, page: str = PAGES[0]) -> list[str]:
    """The commands under `<!-- launcher: ... -->`, without comments."""
    text = (ROOT / page).read_text(encoding="utf-8")
    (block,) = re.findall(rf"<!-- launcher: {launcher} -->\n```bash\n(.*?)```", text, re.DOTALL)
    return [line.split("  #")[0].strip() for line in block.splitlines() if not line.startswith("#")]


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    """A folder with a table of two servers, a program, and the programs of the kit in `bin`."""
    (tmp_path / "train.py").write_text(TRAIN.format(root=str(ROOT)))
    (tmp_path / "bin").mkdir()
    for name, module in PROGRAMS.items():
        program = tmp_path / "bin" / name
        program.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m {module} "$@"\n')
        program.chmod(0o755)
    return tmp_path


@pytest.fixture
def lab(desk: Path) -> Iterator[Hosts]:
    with hosts(2) as made:
        (desk / TABLE).write_text(formats.write(table_of(made.addresses)))
        yield made


def environ_of(desk: Path) -> dict[str, str]:
    environ = clean_environ({"PWD": str(desk)})
    return {**environ, "PATH": f"{desk / 'bin'}:{environ['PATH']}"}


def on_host(lab: Hosts, desk: Path, line: str, *, host: int = 0) -> subprocess.Popen[str]:
    return lab.start(host, ["bash", "-c", line], environ=environ_of(desk), folder=desk)


def assert_runs(process: subprocess.Popen[str]) -> None:
    done = finish(process, 100)
    assert done.returncode == 0, done.stdout + done.stderr


def assert_ranks(desk: Path, *, cards: tuple[int, ...] = (0, 1, 0, 1)) -> None:
    """All ranks of the table ran, each with its card."""
    rows = [(desk / f"rank_{rank}").read_text().split() for rank in range(len(cards))]
    assert [(row[0], row[2]) for row in rows] == [(str(len(cards)), str(card)) for card in cards]


@pytest.mark.parametrize("launcher", ["bash", "mpirun", "msrun", "slurm", "kubernetes", "numbered", "vllm", "torch"])
def test_a_launcher_needs_at_most_five_lines_in_both_languages(launcher: str) -> None:
    lines = [shown(launcher, page) for page in PAGES]
    assert lines[0] == lines[1]
    assert 1 <= len(lines[0]) <= 5


@needs_hosts
def test_run_over_ssh(desk: Path, lab: Hosts) -> None:
    assert_runs(on_host(lab, desk, shown("bash")[0]))
    assert_ranks(desk)


@needs_hosts
def test_bash_by_hand(desk: Path, lab: Hosts) -> None:
    _, write, start = shown("bash")
    assert_runs(on_host(lab, desk, write))
    for process in [on_host(lab, desk, start, host=host) for host in range(2)]:
        assert_runs(process)
    assert_ranks(desk)


@needs_hosts
@pytest.mark.skipif(shutil.which("mpirun", path=clean_environ()["PATH"]) is None, reason="needs mpirun")
def test_mpirun(desk: Path, lab: Hosts) -> None:
    for line in shown("mpirun"):
        assert_runs(on_host(lab, desk, line))
    assert_ranks(desk)


@needs_hosts
@pytest.mark.train
@pytest.mark.skipif(not find_spec("mindspore"), reason="needs MindSpore, which brings msrun")
@pytest.mark.long
def test_msrun(desk: Path, lab: Hosts) -> None:
    write, start = shown("msrun")
    assert_runs(on_host(lab, desk, write))
    (desk / "train.py").write_text("from mindspore.communication import init\ninit()\n" + TRAIN.format(root=str(ROOT)))
    for process in [on_host(lab, desk, start, host=host) for host in range(2)]:
        assert_runs(process)
    assert_ranks(desk)


@needs_slurm
@pytest.mark.long
def test_slurm(desk: Path) -> None:
    with cluster() as lab:
        (desk / TABLE).write_text(formats.write(table_of(lab.nodes)))
        write, submit = shown("slurm")
        environ = {**lab.environ, **environ_of(desk)}
        for line in (write, submit.replace("sbatch", "sbatch --wait")):
            done = subprocess.run(
                ["bash", "-c", line], cwd=desk, env=environ, capture_output=True, text=True, check=False, timeout=100
            )
            assert done.returncode == 0, done.stdout + done.stderr
        assert_ranks(desk)


@pytest.mark.parametrize(
    ("launcher", "wanted"),
    [("kubernetes", {"AscendJob", "Job", "ConfigMap"}), ("numbered", {"JobSet", "ConfigMap"})],
)
def test_kubernetes(desk: Path, launcher: str, wanted: set[str]) -> None:
    """There is no cluster: a fake kubectl records its input."""
    (desk / TABLE).write_text(formats.write(table_of(("10.0.0.1", "10.0.0.2"))))
    kubectl = desk / "bin" / "kubectl"
    kubectl.write_text('#!/bin/sh\n[ "$1 $2" = "apply -f" ] && cat "$3" >> applied.yaml && echo --- >> applied.yaml\n')
    kubectl.chmod(0o755)
    for line in shown(launcher):
        done = subprocess.run(
            ["bash", "-c", line], cwd=desk, env=environ_of(desk), capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
    kinds = [document["kind"] for document in yaml.safe_load_all((desk / "applied.yaml").read_text()) if document]
    assert set(kinds) == wanted


@needs_hosts
def test_vllm(desk: Path, lab: Hosts) -> None:
    """There is no vLLM: a fake records its options."""
    program = desk / "bin" / "vllm"
    program.write_text('#!/bin/sh\necho "$ASCEND_RT_VISIBLE_DEVICES $*" >"$HCCL_IF_IP"\n')
    program.chmod(0o755)
    write, start = shown("vllm")
    assert_runs(on_host(lab, desk, write))
    for host in range(2):
        assert_runs(on_host(lab, desk, start, host=host))
    first, second = ((desk / address).read_text().split() for address in lab.addresses)
    assert first[:6] == ["0,1", "serve", "/models/m", "--max-model-len", "16384", "--tensor-parallel-size"]
    assert second[-3:] == ["--headless", "--data-parallel-start-rank", "1"]


@pytest.mark.torch
def test_torch(desk: Path) -> None:
    pytest.importorskip("torch")
    (desk / "train_ddp.py").write_text(
        "import torch.distributed as dist\ndist.init_process_group('gloo')\ndist.barrier()\n"
        + TRAIN.format(root=str(ROOT))
    )
    write, start = shown("torch")
    for line in (f"{write.split(' -- ')[0]} --simulate -- {write.split(' -- ')[1]}", start):
        done = subprocess.run(
            ["bash", "-c", line],
            cwd=desk,
            env=environ_of(desk),
            capture_output=True,
            text=True,
            check=False,
            timeout=100,
        )
        assert done.returncode == 0, done.stdout + done.stderr
    assert_ranks(desk, cards=(4, 5, 6, 7))
