"""hccl-kit report as a user runs it: real processes, with fakes on PATH for programs that are not installed."""

import json
import re
import subprocess
import sys
from pathlib import Path
from shutil import which
from typing import Any

import pytest

from hccl_kit.base.extra import install_extra
from hccl_kit.diagnosis.doctor import COMPILERS
from tests.places import FAKES, ROOT
from tests.tables import text

BASE_ONLY = ("-S",)
"""Python without its site-packages: only the standard library is available."""


def report(
    *arguments: str, python: tuple[str, ...] = BASE_ONLY, path: Path = Path("/nowhere"), **variables: str
) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *python, "-m", "hccl_kit.cli.kit", "report", *arguments]
    environ = {"PATH": f"{path}:/usr/bin:/bin", "PYTHONPATH": str(ROOT), "HOME": "/root"} | variables
    return subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False, timeout=300)


def checks(done: subprocess.CompletedProcess[str]) -> dict[str, dict[str, Any]]:
    return {check["name"]: check for check in json.loads(done.stdout)["checks"]}


def program(folder: Path, name: str, code: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\n{code}\n")
    (folder / name).chmod(0o755)


def test_works_without_optional_packages() -> None:
    done = report()
    assert (done.returncode, done.stderr) == (0, "")
    assert re.search(r"^  hccl_kit +\d+\.\d+\.\d+", done.stdout, re.MULTILINE)
    assert re.search(r"^  mindspore +not installed$", done.stdout, re.MULTILINE)
    assert "  training        absent  mindspore is not installed\n" in done.stdout
    assert f"fix: {install_extra('train')}\n" in done.stdout
    assert "\033" not in done.stdout
    assert "\033[33mabsent\033[0m" in report(FORCE_COLOR="1").stdout


def test_what_works_is_said_in_chinese() -> None:
    done = report(LC_ALL="zh_CN.UTF-8", PYTHONUTF8="1")
    assert "  training        没有    未安装 mindspore\n" in done.stdout
    assert "\n" + " " * 26 + "解决方法：" in done.stdout
    assert re.search(r"^  mindspore +未安装$", done.stdout, re.MULTILINE)
    assert all(check["detail"].isascii() for check in checks(report("--lang", "zh", "--format", "json")).values())


def test_a_table_is_described_without_its_addresses(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text(text(2))
    done = report(str(tmp_path / "t.json"), "--format", "json", HCCL_IF_IP="10.0.0.1", MASTER_ADDR="node7")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["version"] == 1
    assert (found["table"]["servers"], found["table"]["devices"], found["table"]["errors"]) == (2, 16, 0)
    assert len(found["table"]["digest"]) == 64
    assert found["servers"]["this machine"]["variables"] == {"HCCL_IF_IP": "<address 1>", "MASTER_ADDR": "<host 2>"}
    for private in ("10.0.0.", "192.168.", "node7", str(tmp_path)):
        assert private not in done.stdout


def test_a_run_shows_its_initial_weights_and_its_scores(tmp_path: Path) -> None:
    before, kept = {"word_accuracy": 0.5}, {"word_accuracy": 0.75}
    summary = {"steps": 9, "word_accuracy": 0.7, "before": before, "kept": kept}
    started = {"started_from": {"model.pretrained": f"{tmp_path}/best.ckpt"}}
    (tmp_path / "summary.json").write_text(json.dumps({**summary, **started}))
    done = report(str(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")
    for name, value in (
        ("started_from", "model.pretrained: best.ckpt"),
        ("before", "word_accuracy: 0.5"),
        ("best", "word_accuracy: 0.75"),
        ("last", "word_accuracy: 0.7"),
    ):
        assert re.search(rf"^  {name} +{re.escape(value)}$", done.stdout, re.MULTILINE)
    assert str(tmp_path) not in done.stdout
    assert "what works" not in done.stdout
    empty = report(str(tmp_path / ".."))
    assert (empty.returncode, empty.stdout) == (2, "")
    assert "the folder of a training that has ended" in empty.stderr


def test_a_positional_argument_written_as_an_option_is_named() -> None:
    assert report("--paht").stderr.endswith("error: unrecognized arguments: --paht; did you mean PATH?\n")


def test_an_invalid_table_is_exit_1_and_an_unreadable_one_exit_2(tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text(text().replace('"rank_id": "1"', '"rank_id": "0"'))
    done = report(str(tmp_path / "bad.json"))
    assert done.returncode == 1
    assert re.search(r"^  rules +HK201: 1$", done.stdout, re.MULTILINE)
    done = report(str(tmp_path / "none.json"))
    assert (done.returncode, done.stdout) == (2, "")


@pytest.mark.parametrize(
    ("code", "state", "detail"),
    [
        ("echo no slots available >&2; exit 1", "broken", "no slots available"),
        ('[ "$1" = --version ] && echo "mpirun (Open MPI) 9" || echo "hccl_kit trial done"', "works", "two processes"),
    ],
)
def test_mpi_is_tested_by_running_it(tmp_path: Path, code: str, state: str, detail: str) -> None:
    pytest.importorskip("mpi4py")
    program(tmp_path, "mpirun", code)
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "mpi4py-4.0.0.dist-info").mkdir()
    (tmp_path / "site" / "mpi4py-4.0.0.dist-info" / "METADATA").write_text("Name: mpi4py\nVersion: 4.0.0\n")
    done = report("--format", "json", path=tmp_path, PYTHONPATH=f"{ROOT}:{tmp_path / 'site'}")
    assert (checks(done)["mpi"]["state"], done.returncode) == (state, int(state == "broken"))
    assert detail in checks(done)["mpi"]["detail"]


def test_cards_without_device_files_are_broken(tmp_path: Path) -> None:
    found = checks(report("--format", "json", path=FAKES))["cards"]
    assert (found["state"], found["detail"]) == ("broken", "0 in /dev, npu-smi found")
    assert "--device=/dev/davinci0" in found["fix"]


def test_without_a_compiler_training_on_a_cpu_is_slower(tmp_path: Path) -> None:
    found = checks(report("--format", "json", path=tmp_path, CXX="absent-c++"))["compiler"]
    assert (found["state"], found["fix"]) == ("absent", "apt-get install g++")


@pytest.mark.parametrize(("quote", "state"), [("'", "works"), ("", "absent"), ("\"'", "broken")])
def test_the_compiler_may_be_in_a_folder_with_a_space(quote: str, state: str, tmp_path: Path) -> None:
    (tmp_path / "a b").mkdir()
    program(tmp_path / "a b", "g++", "exit 0")
    found = checks(report("--format", "json", path=tmp_path, CXX=f"{quote}{tmp_path}/a b/g++{quote}"))["compiler"]
    assert found["state"] == state


@pytest.mark.train
def test_installed_packages_are_reported_as_working() -> None:
    path = Path(sys.executable).parent
    done = report("--format", "json", python=(), path=path, OMP_NUM_THREADS="1")
    assert done.returncode == 0, done.stdout
    assert {name: check["state"] for name, check in checks(done).items()} == {
        "training": "works",
        "mpi": "works",
        "export": "works",
        "cards": "absent",
        "compiler": "works" if any(map(which, COMPILERS)) else "absent",
    }
