"""The layers of the package: imports, also those inside functions, point down, and there are no cycles."""

import ast
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from tests.places import ROOT

PACKAGE = ROOT / "hccl_kit"

# Folder -> the layer of each module and folder in it. A module imports from lower layers of its folder only. Folders of
# modules alone need no row: they must be free of cycles.
FLOORS = {
    "": {
        "agent": 0,
        "base": 0,
        "pod": 1,
        "remote": 1,
        "table": 1,
        "runtime": 2,
        "discovery": 2,
        "check": 2,
        "launch": 3,
        "show": 3,
        "ocr": 3,
        "place": 4,
        "preflight": 4,
        "diagnosis": 5,
        "selftest": 5,
        "snapshot": 6,
        "watch": 6,
        "cli": 7,
        "__main__": 8,
    },
    "table": {
        "bounds": 0,
        "device_range": 0,
        "ip": 0,
        "pointer": 0,
        "products": 0,
        "source": 0,
        "finding": 1,
        "model": 1,
        "document": 2,
        "hccl_parser": 2,
        "hosts": 2,
        "folder": 5,
        "reading": 3,
        "schema": 3,
        "formats": 4,
        "operations": 5,
    },
    "check": {
        "result": 0,
        "rule": 0,
        "rule_pages": 1,
        "rules": 1,
        "engine": 2,
        "report": 2,
        "selection": 2,
        "device_choice": 3,
        "fix": 3,
        "table_files": 3,
    },
    "launch": {
        "files": 0,
        "agent_texts": 0,
        "job_ports": 0,
        "log_folder": 1,
        "program": 0,
        "nested": 1,
        "diagnose_logs": 0,
        "passed_on": 1,
        "plan": 2,
        "recorders": 0,
        "assign": 3,
        "shell": 2,
        "hccl_variables": 3,
        "spares": 3,
        "way": 4,
        "emitters": 4,
        "servers": 5,
        "rules": 5,
    },
    "preflight": {
        "host_facts": 0,
        "system_settings": 0,
        "node": 1,
        "site": 6,
        "probes": 2,
        "rules": 3,
        "container": 4,
        "answer": 5,
        "card_round": 7,
        "card_verdict": 8,
        "card_probe": 8,
        "card_readings": 8,
        "cluster_rules": 6,
        "job": 7,
        "on_server": 10,
        "machine": 9,
        "card_reach": 9,
        "card_rules": 10,
        "site_rules": 10,
        "all_servers": 11,
        "reports": 8,
    },
    "selftest": {
        "rounds": 0,
        "measured": 1,
        "protocol": 2,
        "agent": 3,
        "faults": 2,
        "hccl_test": 2,
        "ranks": 3,
        "rank_states": 3,
        "session": 4,
        "evidence": 3,
        "results": 4,
        "verdict": 4,
        "json_form": 5,
        "run": 5,
        "svg": 4,
        "text": 5,
    },
    "diagnosis": {
        "facts": 0,
        "errors": 1,
        "first_faults": 0,
        "logs": 2,
        "masking": 2,
        "moments": 0,
        "training_run": 0,
        "catalogue": 2,
        "doctor": 2,
        "environment": 3,
        "known_lines": 3,
        "rank_settings": 3,
        "variable_check": 4,
        "variable_pages": 0,
        "collecting": 3,
        "answer_text": 4,
        "log_reading": 4,
        "lookup": 4,
        "most_telling": 5,
        "verdict": 4,
        "job": 6,
        "report": 5,
    },
    "diagnosis.verdict": {
        "diagnosis": 0,
        "work": 0,
        "endings": 1,
        "names": 1,
        "places": 0,
        "runs": 1,
        "run_folders": 2,
        "job": 1,
        "records": 0,
        "identities": 2,
        "waits": 2,
        "assembly": 3,
        "clocks": 3,
        "causes": 4,
        "judge": 5,
    },
    "ocr": {
        "code_digest": 0,
        "config": 0,
        "drawing": 0,
        "file_errors": 0,
        "interrupt": 0,
        "metrics": 0,
        "polygons": 0,
        "rapidocr": 0,
        "charset": 1,
        "checkpoints": 1,
        "data": 2,
        "models": 2,
        "adapt": 3,
        "cpu": 3,
        "decode": 3,
        "losses": 3,
        "on_cpu": 4,
        "tasks": 4,
        "run": 5,
        "infer": 6,
        "reader": 6,
        "serve": 7,
        "train": 7,
        "programs": 8,
    },
    "ocr.models": {
        "bilinear": 0,
        "dropout": 0,
        "fpn": 0,
        "mobilenet_v3": 0,
        "network": 0,
        "rec_resnet34": 0,
        "cls_mobilenet_v3": 1,
        "crnn": 1,
        "detector": 1,
        "tps": 1,
        "vgg7": 1,
        "db": 2,
        "east": 2,
        "pse": 2,
        "crnn_small": 2,
        "svtr": 2,
        "ppocr": 3,
    },
    "ocr.data": {
        "image_paths": 0,
        "samples": 0,
        "page_split": 0,
        "image_file": 1,
        "synthetic": 1,
        "data_folder": 2,
        "mat_file": 2,
        "transforms": 2,
        "loader": 3,
        "pages": 3,
        "lines": 4,
        "published": 4,
        "pipeline": 5,
        "feed": 6,
    },
}
OF_TRAINING = ("base", "runtime", "ocr", "table.pointer")
"""Packages that the training code may import. The other code may not import the training code."""


def module_of(path: Path) -> str:
    """The module name relative to hccl_kit; "" for the package itself."""
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix("__init__").removesuffix(".")


@cache
def modules() -> dict[str, Path]:
    return {module_of(path): path for path in PACKAGE.rglob("*.py")}


@cache
def imports_of(module: str) -> frozenset[str]:
    """The modules of this package that a module imports, anywhere in its text except under TYPE_CHECKING."""
    tree = ast.parse(modules()[module].read_text(encoding="utf-8"))
    typing_only = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        for inner in ast.walk(node)
    }
    found = {name for node in ast.walk(tree) if id(node) not in typing_only for name in _named(node)}
    ours = {name.removeprefix("hccl_kit").removeprefix(".") for name in found if name.split(".")[0] == "hccl_kit"}
    return frozenset(_module(name) for name in ours) - {module, ""}


def _named(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.ImportFrom):
        assert node.level == 0, "an import names its module in full"
        yield from (f"{node.module}.{alias.name}" for alias in node.names)
    elif isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)


def _module(name: str) -> str:
    """The module of a name: `check.engine` for `check.engine.Report`."""
    while name not in modules():
        name = name.rpartition(".")[0]
    return name


def below(folder: str, module: str) -> str | None:
    """The module or folder directly below `folder` that a module belongs to; None if it is elsewhere."""
    prefix = f"{folder}." if folder else ""
    return module.removeprefix(prefix).split(".")[0] if module.startswith(prefix) and module != folder else None


def arrows(folder: str) -> Iterator[tuple[str, str, str]]:
    """The imports between modules and folders directly below `folder`, and the importing module of each."""
    for module in modules():
        source = below(folder, module)
        for other in imports_of(module):
            target = below(folder, other)
            if source and target and source != target:
                yield source, target, module


@pytest.mark.parametrize("folder", FLOORS)
def test_every_module_and_folder_has_a_layer(folder: str) -> None:
    assert {child for module in modules() if (child := below(folder, module))} == FLOORS[folder].keys()


@pytest.mark.parametrize("folder", FLOORS)
def test_imports_point_down(folder: str) -> None:
    floors = FLOORS[folder]
    up = [(module, target) for source, target, module in arrows(folder) if floors[target] >= floors[source]]
    assert up == []


def test_a_folder_with_subfolders_has_layers() -> None:
    """A folder of modules alone may be omitted from the table: the next test detects its cycles."""
    parents = {module.rpartition(".")[0] for module, path in modules().items() if path.name == "__init__.py" and module}
    assert parents == FLOORS.keys()


def test_what_is_fast_on_cpus_has_one_door() -> None:
    """So the folder may be removed: `tests/ocr/test_on_cpu.py` does."""
    assert {
        module
        for module in modules()
        if not module.startswith("ocr.cpu") and any(other.startswith("ocr.cpu") for other in imports_of(module))
    } == {"ocr.on_cpu"}


def test_there_are_no_import_cycles() -> None:
    graph = {module: imports_of(module) for module in modules()}
    TopologicalSorter(graph).prepare()


def test_no_function_takes_a_parsed_command_line() -> None:
    """The parser converts it to a value with a type for each field (`GenRequest`)."""
    wrong = [
        f"{module}.{node.name}"
        for module, path in modules().items()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef)
        for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
        if argument.annotation and "Namespace" in ast.unparse(argument.annotation)
    ]
    assert wrong == []


def test_training_and_tools_share_only_the_worker_environment() -> None:
    wrong = [
        f"{module} imports {other}"
        for module in modules()
        for other in imports_of(module)
        if (module.startswith("ocr") and not other.startswith(OF_TRAINING))
        or (other.startswith("ocr") and not module.startswith("ocr"))
    ]
    assert wrong == []
