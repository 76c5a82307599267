"""The framework of a program is read from its file, and only if the file leaves no doubt."""

from pathlib import Path

import pytest

from hccl_kit.launch.program import Import, imported_framework


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("import torch", ("pytorch", "torch")),
        ("import os, torch.distributed as dist", ("pytorch", "torch")),
        ("def main():\n    from accelerate import Accelerator", ("pytorch", "accelerate")),
        ("import torch_npu, torch", ("pytorch", "torch")),
        ("from mindspore import nn", ("mindspore", "mindspore")),
        ("import torch\nimport mindspore", None),
        ("from .torch import x\nfrom . import torch\nimport torchlike", None),
        ("# import torch\nname = 'import torch'", None),
        ("import torch\nprint 'no Python 3'", None),
        ("import torch\n" + "(" * 9999, None),
        ("import torch\n#" + "x" * (1 << 20), None),
        ("import torch\0", None),
    ],
)
def test_the_framework_is_the_one_that_the_file_imports(
    text: str, match: tuple[str, str] | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "train.py").write_text(text)
    framework, package = match or ("", "")
    for command, file in (
        (["python", "-u", "tools/train.py", "--lr", "1"], "tools/train.py"),
        (["numactl", "-N", "0", "env", "A=1", "python3.11", "tools/train.py"], "tools/train.py"),
        (["./tools/train.py"], "./tools/train.py"),
        (["python", "-m", "tools.train"], "tools.train"),
    ):
        assert imported_framework(command) == (Import(framework, file, package) if match else None)


@pytest.mark.parametrize(
    "command", [["python", "none.py"], ["python", "-c", "import torch"], ["train"], ["python"], []]
)
def test_a_program_without_a_file_here_is_not_guessed(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train").write_text("import torch")
    assert imported_framework(command) is None
