"""A plain torch program, as in the tutorials, on two hosts with our script."""

from pathlib import Path

import pytest

from tests.lab.hosts import hosts, needs_hosts
from tests.launch.jobs import finish
from tests.launch.nodes import python_nodes_job

pytestmark = [needs_hosts, pytest.mark.torch]

DDP = """
import torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group('gloo')
local_rank = int(os.environ['LOCAL_RANK'])
torch.manual_seed(rank)
network = DistributedDataParallel(torch.nn.Linear(4, 1))
optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
for step in range(5):
    optimizer.zero_grad()
    network(torch.full((2, 4), float(rank + step))).square().mean().backward()
    optimizer.step()
weights = network.module.weight.detach().clone()
everyone = [torch.zeros_like(weights) for _ in range(dist.get_world_size())]
dist.all_gather(everyone, weights)
print('equal', all(torch.equal(weights, other) for other in everyone), 'of', len(everyone), 'on', socket.gethostname())
dist.barrier()  # without it torch itself aborts at its end, in one of fifty ranks
dist.destroy_process_group()
"""


@pytest.mark.long
def test_a_ddp_program_trains_over_two_hosts(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    with hosts(2) as lab:
        job = python_nodes_job(tmp_path, lab, DDP)
        done = finish(job.start(0, "--ssh", environ={"GLOO_SOCKET_IFNAME": "eth0", "OMP_NUM_THREADS": "1"}), 100)
        assert done.returncode == 0, done.stderr
        assert [job.log(rank).splitlines()[-1] for rank in range(4)] == [
            f"equal True of 4 on node{1 + rank // 2}" for rank in range(4)
        ]
        assert job.processes() == []
