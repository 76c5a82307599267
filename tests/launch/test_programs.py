"""Programs of other frameworks, unchanged, under `hccl-kit run` and under the script of one server."""

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from hccl_kit.launch.emitters import bash
from hccl_kit.launch.files import TableFile
from hccl_kit.launch.plan import plan
from hccl_kit.table import formats
from tests.launch.jobs import SCRIPT, TABLE, clean_environ, table

END = """
everyone = [torch.zeros_like(weights) for _ in range(dist.get_world_size())]
dist.all_gather(everyone, weights)
same = all(torch.equal(weights, other) for other in everyone)
print(json.dumps([dist.get_rank(), dist.get_world_size(), same]), flush=True)
dist.barrier()
dist.destroy_process_group()
"""
"""Prints the rank, the ranks of the group, and whether all have the same weights."""

DDP = f"""
import json, os, torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
dist.init_process_group("gloo")
torch.manual_seed(dist.get_rank())
network = DistributedDataParallel(torch.nn.Linear(4, 1))
network(torch.full((2, 4), 1.0 + int(os.environ["LOCAL_RANK"]))).square().mean().backward()
torch.optim.SGD(network.parameters(), lr=0.1).step()
weights = network.module.weight.detach().clone()
{END}"""
ACCELERATE = f"""
import json, torch, torch.distributed as dist
from accelerate import Accelerator
accelerator = Accelerator(cpu=True)
torch.manual_seed(accelerator.process_index)
network = torch.nn.Linear(4, 1)
network, optimizer = accelerator.prepare(network, torch.optim.SGD(network.parameters(), lr=0.1))
accelerator.backward(network(torch.full((2, 4), 1.0 + accelerator.local_process_index)).square().mean())
optimizer.step()
weights = network.module.weight.detach().clone()
{END}"""
TRAINER = f"""
import json, torch, torch.distributed as dist
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments
arguments = TrainingArguments("out", use_cpu=True, max_steps=2, report_to=[], save_strategy="no", seed=1)
config = BertConfig(vocab_size=9, hidden_size=8, num_hidden_layers=1, num_attention_heads=1, intermediate_size=8)
rows = [{{"input_ids": torch.tensor([1, 2, i % 9]), "labels": torch.tensor(i % 2)}} for i in range(32)]
trainer = Trainer(BertForSequenceClassification(config), arguments, train_dataset=rows)
trainer.train()
weights = trainer.model.classifier.weight.detach().clone()
{END}"""
LIGHTNING = f"""
import json, os, torch, torch.distributed as dist, lightning
class Network(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)
    def training_step(self, batch, _):
        return self.layer(batch).square().mean()
    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)
network = Network()
trainer = lightning.Trainer(
    accelerator="cpu", devices=int(os.environ["LOCAL_WORLD_SIZE"]), num_nodes=1, strategy="ddp", max_epochs=1,
    logger=False, enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
)
trainer.fit(network, torch.utils.data.DataLoader(torch.ones(8, 4), batch_size=2))
weights = network.layer.weight.detach().clone()
{END}"""
PLAIN = "import json, os\nprint(json.dumps([int(os.environ['RANK_ID']), int(os.environ['RANK_SIZE']), True]))\n"
MINDSPORE = """
import json, os
import mindspore
from mindspore import Tensor, nn
network = nn.Dense(4, 1)
assert network(Tensor([[1.0, 2.0, 3.0, 4.0]], mindspore.float32)).shape == (1, 1)
print(json.dumps([int(os.environ["RANK_ID"]), int(os.environ["RANK_SIZE"]), True]))
"""
"""A program of MindSpore on CPU, where its own `init` needs mpirun or msrun."""

Start = Callable[[Path, Sequence[str]], "subprocess.CompletedProcess[str]"]


def by_run(folder: Path, command: Sequence[str]) -> "subprocess.CompletedProcess[str]":
    kit = [sys.executable, "-m", "hccl_kit.cli.kit", "run", TABLE, "--framework", "pytorch", "--", *command]
    return subprocess.run(kit, cwd=folder, env=clean_environ(), capture_output=True, text=True, check=False)


def by_script(folder: Path, command: Sequence[str]) -> "subprocess.CompletedProcess[str]":
    made = plan(table(2), command, framework="pytorch")
    (script,) = bash.emit(made, TableFile(TABLE, (folder / TABLE).read_text()))
    (folder / SCRIPT).write_text(script.text, encoding="utf-8")
    return subprocess.run(
        ["bash", SCRIPT], cwd=folder, env=clean_environ(), capture_output=True, text=True, check=False
    )


def assert_trains(folder: Path, start: Start, program: str) -> None:
    (folder / TABLE).write_text(formats.write(table(2)), encoding="utf-8")
    (folder / "program.py").write_text(program, encoding="utf-8")
    done = start(folder, (sys.executable, "-u", "program.py"))
    assert done.returncode == 0, done.stderr
    logs = [(folder / "hccl_logs" / "latest" / f"rank_{rank}.log").read_text() for rank in range(2)]
    said = [next(line for line in log.splitlines()[::-1] if line.startswith("[")) for log in logs]
    assert [json.loads(line) for line in said] == [[0, 2, True], [1, 2, True]]


@pytest.mark.parametrize("start", [by_run, by_script])
def test_a_program_that_knows_nothing_of_the_kit_runs(tmp_path: Path, start: Start) -> None:
    assert_trains(tmp_path, start, PLAIN)


@pytest.mark.parametrize("start", [by_run, by_script])
def test_a_program_of_mindspore_runs(tmp_path: Path, start: Start) -> None:
    pytest.importorskip("mindspore")
    assert_trains(tmp_path, start, MINDSPORE)


@pytest.mark.torch
@pytest.mark.parametrize("start", [by_run, by_script])
@pytest.mark.parametrize(
    ("package", "program"),
    [("torch", DDP), ("accelerate", ACCELERATE), ("transformers", TRAINER), ("lightning", LIGHTNING)],
    ids=["ddp", "accelerate", "Trainer", "lightning"],
)
def test_a_program_of_torch_trains_unchanged(tmp_path: Path, start: Start, package: str, program: str) -> None:
    pytest.importorskip("torch")
    if package == "transformers":
        pytest.importorskip("accelerate")
    pytest.importorskip(package)
    assert_trains(tmp_path, start, program)
