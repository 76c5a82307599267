"""The package as users install it: an sdist, the wheel built from it, and a new environment outside the checkout.

Nothing is downloaded: the environment uses the dependencies of the one that runs the tests.
"""

import json
import os
import re
import subprocess
import sys
import sysconfig
import tarfile
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.launch.jobs import clean_environ
from tests.places import ROOT

pytestmark = pytest.mark.skipif(not find_spec("hatchling"), reason="needs hatchling, of the extra dev")

CONFIG = "rec/crnn/crnn_small.yaml"
WITH_DICTIONARY = "rec/crnn/crnn_receipts.yaml"


@dataclass(frozen=True)
class Installed:
    """The two archives, and a working folder with the programs of the wheel on PATH."""

    sdist: Path
    wheel: Path
    work: Path
    programs: Path

    def run(self, *command: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        environ = {key: value for key, value in clean_environ().items() if key not in ("PYTHONPATH", "VIRTUAL_ENV")}
        environ |= {"PATH": f"{self.programs}{os.pathsep}{os.environ['PATH']}", "OMP_NUM_THREADS": "1"}
        done = subprocess.run(command, cwd=self.work, env=environ, capture_output=True, text=True, check=False)
        assert done.returncode == code, done.stdout + done.stderr
        return done


def build(kind: str, source: Path, folder: Path) -> Path:
    argv = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(folder)]
    subprocess.run(argv, cwd=source, check=True, capture_output=True)
    (path,) = folder.glob("*.tar.gz" if kind == "sdist" else "*.whl")
    return path


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    folder = tmp_path_factory.mktemp("wheel")
    sdist = build("sdist", ROOT, folder / "dist")
    with tarfile.open(sdist) as archive:
        archive.extractall(folder / "source", filter="data")
    (source,) = (folder / "source").iterdir()
    wheel = build("wheel", source, folder / "dist")
    venv = folder / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    pip = [sys.executable, "-m", "pip", "--python", str(venv), "install", "--no-deps", "--no-index", "--quiet"]
    subprocess.run([*pip, wheel], check=True)
    (site,) = (venv / "lib").glob("python*/site-packages")
    ours = dict.fromkeys(sysconfig.get_path(name) for name in ("purelib", "platlib"))
    (site / "dependencies.pth").write_text("\n".join(ours), encoding="utf-8")
    (folder / "work").mkdir()
    return Installed(sdist, wheel, folder / "work", venv / "bin")


def test_the_archives_pass_twine_check(installed: Installed) -> None:
    argv = [sys.executable, "-m", "twine", "check", "--strict", str(installed.sdist), str(installed.wheel)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_all_links_of_the_package_page_are_absolute(installed: Installed) -> None:
    with ZipFile(installed.wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith("/METADATA"))
        page = archive.read(name).decode()
    links = re.findall(r"\]\(([^)]*)\)", page)
    assert "https://github.com/hccl-kit/hccl-kit/blob/main/CHANGELOG.md" in links
    assert [link for link in links if not link.startswith(("https://", "#"))] == []
    assert "Project-URL: Documentation, https://" in page


def test_the_sdist_has_all_files_for_the_wheel_and_no_tests(installed: Installed) -> None:
    with tarfile.open(installed.sdist) as archive:
        tops = {name.split("/")[1] for name in archive.getnames()}
    assert {"hccl_kit", "schemas", "configs", "tools", "pyproject.toml", "LICENSE"} <= tops
    assert not {"tests", "benchmarks", ".ci"} & tops


def test_shipped_configurations_and_their_files_are_found_by_name(installed: Installed) -> None:
    names = installed.run("hccl-kit", "train", "--list-configs").stdout.split()
    assert names == sorted(path.relative_to(ROOT / "configs").as_posix() for path in ROOT.glob("configs/**/*.yaml"))
    for name in (WITH_DICTIONARY, f"configs/{WITH_DICTIONARY}"):  # has a base file and a dictionary
        done = installed.run("hccl-kit", "export", "-c", name, "--format", "mindir", code=2)
        where, error = done.stderr.splitlines()[:2]
        assert where.endswith(f"/hccl_kit/configs/{WITH_DICTIONARY} (shipped with hccl-kit)")
        assert error.startswith("error: there is no checkpoint runs/crnn_receipts/best.ckpt ")
    done = installed.run("hccl-kit", "train", "-c", "rec/crnn/crnn_smal.yaml", code=2)
    assert "no shipped configuration has this name" in done.stderr
    assert "fix: did you mean rec/crnn/crnn_small.yaml" in done.stderr


def test_a_local_file_takes_precedence_over_a_shipped_one_and_may_extend_it(installed: Installed) -> None:
    (installed.work / "mine.yaml").write_text(f"__base__: {WITH_DICTIONARY}\nsystem: {{seed: x}}\n")
    done = installed.run("hccl-kit", "train", "-c", "mine.yaml", code=2)
    assert "mine.yaml:2: system.seed is 'x'" in done.stderr
    local = installed.work / "rec" / "crnn" / "crnn_small.yaml"
    local.parent.mkdir(parents=True)
    local.write_text("system: 3\n")
    done = installed.run("hccl-kit", "train", "-c", CONFIG, code=2)
    assert f"{CONFIG}:1: model is missing" in done.stderr
    local.unlink()


@pytest.mark.train
def test_the_steps_of_the_readme_work(installed: Installed) -> None:
    """From a range of cards to an exported model, using only the installed programs."""
    run = installed.run
    assert run("hccl-gen", "--device_num", "[0,2)", "--simulate").stderr == ""
    run("hccl-check", "hccl_2p_01_127.0.0.1.json")
    run("hccl-kit", "render-words", "--output", "data/words", "--train", "96", "--test", "20")
    trained = run("bash", "ascend2p.sh", "hccl-kit", "train", "-c", CONFIG, "-o", "scheduler.num_epochs=2")
    assert f"hccl_kit/configs/{CONFIG} (shipped with hccl-kit)" in trained.stdout + trained.stderr
    summary = json.loads((installed.work / "runs" / "crnn_small" / "summary.json").read_text())
    assert (summary["world_size"], summary["ranks_equal"]) == (2, True)
    scores = json.loads(run("hccl-kit", "eval", "-c", CONFIG, "--json").stdout)
    assert scores["word_accuracy"] == summary["best"]
    read = run("python", "-m", "hccl_kit", "predict", "-c", CONFIG, "--images", "data/words/test", "--limit", "3")
    assert [line.split("\t")[0] for line in read.stdout.splitlines()] == [
        f"data/words/test/{number:05}.png" for number in range(3)
    ]
    form = "onnx" if find_spec("onnx") and find_spec("onnxruntime") else "mindir"
    run("hccl-kit", "export", "-c", CONFIG, "--format", form)
    assert (installed.work / "runs" / "crnn_small" / f"best.{form}").is_file()
    place = run("python", "-c", "import hccl_kit; print(hccl_kit.__file__)").stdout
    assert not Path(place).is_relative_to(ROOT)
