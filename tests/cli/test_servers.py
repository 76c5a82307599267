"""The options of hccl-kit run for several servers: those that contradict each other start nothing."""

import pytest

from hccl_kit.base.errors import KitError
from hccl_kit.cli.servers import OnServers


@pytest.mark.parametrize(
    ("options", "error"),
    [
        (OnServers(slurm=True, ssh=True), "--slurm starts all servers; leave out --ssh"),
        (OnServers(slurm=True, server="n1"), "--slurm starts all servers; leave out --server"),
        (OnServers(slurm=True, export=("A",)), "--export is for --ssh; srun passes all variables on"),
        (OnServers(slurm=True, spares="n3"), "--spares with --slurm needs --inventory, with the cards of the spares"),
        (OnServers(python=("/usr/bin/python3",)), "--python is for --ssh and --slurm"),
    ],
    ids=str,
)
def test_options_that_contradict_each_other_are_refused(options: OnServers, error: str) -> None:
    with pytest.raises(KitError) as refused:
        options.check(1, "t.json", 0)
    assert refused.value.message == error
