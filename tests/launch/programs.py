"""Programs of torch as users write them: none knows of the kit, and each trains a network that all ranks must agree on.

Each rank prints what `seen` reads.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import NamedTuple

END = """
import json, os, sys
everyone = [torch.zeros_like(weights) for _ in range(dist.get_world_size())]
dist.all_gather(everyone, weights)
equal = all(torch.equal(weights, other) for other in everyone)
variables = [int(os.environ[name]) for name in ("NODE_RANK", "GROUP_RANK", "OMP_NUM_THREADS")]
print("seen", json.dumps([dist.get_rank(), dist.get_world_size(), equal, *variables]), flush=True)
dist.barrier()
dist.destroy_process_group()
if "mpi4py" not in sys.modules:
    os._exit(0)  # torch's own threads abort some of the programs that end otherwise
"""

DDP = f"""
import os, torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
dist.init_process_group("gloo")
torch.manual_seed(dist.get_rank())
network = DistributedDataParallel(torch.nn.Linear(4, 1))
network(torch.full((2, 4), 1.0 + int(os.environ["RANK"]))).square().mean().backward()
torch.optim.SGD(network.parameters(), lr=0.1).step()
weights = network.module.weight.detach().clone()
{END}"""
ACCELERATE = f"""
import torch, torch.distributed as dist
from accelerate import Accelerator
accelerator = Accelerator(cpu=True)
torch.manual_seed(accelerator.process_index)
network = torch.nn.Linear(4, 1)
network, optimizer = accelerator.prepare(network, torch.optim.SGD(network.parameters(), lr=0.1))
accelerator.backward(network(torch.full((2, 4), 1.0 + accelerator.process_index)).square().mean())
optimizer.step()
weights = network.module.weight.detach().clone()
{END}"""
TRAINER = f"""
import torch, torch.distributed as dist
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments
arguments = TrainingArguments("trained", use_cpu=True, max_steps=2, report_to=[], save_strategy="no", seed=1)
config = BertConfig(vocab_size=9, hidden_size=8, num_hidden_layers=1, num_attention_heads=1, intermediate_size=8)
rows = [{{"input_ids": torch.tensor([1, 2, i % 9]), "labels": torch.tensor(i % 2)}} for i in range(64)]
trainer = Trainer(BertForSequenceClassification(config), arguments, train_dataset=rows)
trainer.train()
weights = trainer.model.classifier.weight.detach().clone()
{END}"""
LIGHTNING = f"""
import os, torch, torch.distributed as dist, lightning
class Network(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)
    def training_step(self, batch, _):
        return self.layer(batch).square().mean()
    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)
network = Network()
ranks, size = int(os.environ["LOCAL_WORLD_SIZE"]), int(os.environ["WORLD_SIZE"])
trainer = lightning.Trainer(
    accelerator="cpu", devices=ranks, num_nodes=size // ranks, strategy="ddp", max_epochs=1,
    logger=False, enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
)
trainer.fit(network, torch.utils.data.DataLoader(torch.ones(8, 4), batch_size=1))
assert (trainer.node_rank, trainer.world_size) == (int(os.environ["NODE_RANK"]), size)
weights = network.layer.weight.detach().clone()
{END}"""
MPI_AND_TORCH = f"""
from mpi4py import MPI
import torch, torch.distributed as dist
world = MPI.COMM_WORLD
dist.init_process_group("gloo")
assert (world.Get_rank(), world.Get_size()) == (dist.get_rank(), dist.get_world_size())
weights = torch.full((4,), 1.0 + dist.get_rank())
dist.all_reduce(weights)
assert world.allreduce(1.0 + dist.get_rank()) == weights[0]
{END}"""
"""Calls both, as programs do that were written for MPI and got a network of torch."""

PACKAGES = {
    "ddp": ("torch",),
    "accelerate": ("torch", "accelerate"),
    "trainer": ("torch", "accelerate", "transformers"),
    "lightning": ("torch", "lightning"),
    "mpi": ("torch", "mpi4py"),
}
"""The packages that each of PROGRAMS imports."""
PROGRAMS = {"ddp": DDP, "accelerate": ACCELERATE, "trainer": TRAINER, "lightning": LIGHTNING, "mpi": MPI_AND_TORCH}


class Seen(NamedTuple):
    """What a rank has seen: its number and the size of torch's group, whether all ranks have equal weights, and the
    variables NODE_RANK, GROUP_RANK and OMP_NUM_THREADS.
    """

    rank: int
    size: int
    equal: bool
    node: int
    group: int
    threads: int


def seen(output: str) -> list[Seen]:
    """What the ranks of a job have written, in the order of ranks."""
    return sorted(Seen(*json.loads(text)) for text in re.findall(r"\bseen (\[.*\])$", output, re.MULTILINE))


def seen_in(logs: Path) -> list[Seen]:
    """The same from the folder with a log for each rank."""
    return seen("\n".join(path.read_text(encoding="utf-8") for path in logs.glob("rank_*.log")))


def expected(servers: int, ranks: int, threads: int) -> list[Seen]:
    """What the ranks of `servers` with `ranks` each should have seen."""
    size = servers * ranks
    return [Seen(rank, size, True, rank // ranks, rank // ranks, threads) for rank in range(size)]
