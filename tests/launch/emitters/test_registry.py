"""The table of launchers: a function `emit` for each row, which takes the options of the row."""

import inspect
import pkgutil
import subprocess
import sys

import pytest

from hccl_kit.base.errors import KitError
from hccl_kit.launch import emitters
from hccl_kit.launch.emitters import LAUNCHERS, emit, emitter_of, kubernetes
from hccl_kit.launch.emitters.kinds import EMITTERS
from hccl_kit.launch.emitters.options import SLURM
from tests.launch.ways import planned, servers

SHARED = {
    *("hardware", "kinds", "kubernetes", "manifest", "numbered", "options", "pod_options", "pod_program"),
    *("servers", "slurm_options", "vllm_service"),
}
"""Modules that several emitters use."""


def test_each_emitter_has_a_row() -> None:
    assert {module.name for module in pkgutil.iter_modules(emitters.__path__)} - SHARED == LAUNCHERS.keys() - EMITTERS


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_the_options_of_a_row_are_the_keywords_of_its_emit(launcher: str) -> None:
    row = LAUNCHERS[launcher]
    parameters = dict(inspect.signature(emitter_of(row)).parameters)
    if row.runs_pods:
        parameters = {**parameters, **inspect.signature(kubernetes.pod_job).parameters}
    if launcher == "slurm":
        parameters |= {option.name: parameters["hetjob"] for option in SLURM}
    keywords = {name for name, parameter in parameters.items() if parameter.kind is parameter.KEYWORD_ONLY}
    keywords -= {"hardware", "suffix"}  # follow from the product or the resource, and from the launcher
    options = {option.name for option in row.options}
    assert keywords == options | ({"product"} if row.needs_product else set())


def test_the_table_imports_no_emitter() -> None:
    program = (
        "import sys, hccl_kit.launch.emitters; print(*[m for m in sys.modules if m.startswith('hccl_kit.launch')])"
    )
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert sorted(done.stdout.split()) == [f"hccl_kit.launch{name}" for name in ("", ".emitters", ".emitters.options")]


@pytest.mark.parametrize("name", ["", "../t.json", "t\0.json"])
def test_a_table_is_named_without_a_folder(name: str) -> None:
    plan, table = planned(servers((0,)), "true")
    with pytest.raises(KitError, match="accepted: a file name"):
        emit("bash", plan, table._replace(name=name))
