"""One rank: detects its launcher, joins on the device that its argument names, and prints the group that it joined."""

import json
import os
import sys
from pathlib import Path

from hccl_kit.base.errors import KitError
from hccl_kit.runtime.detect import detect
from hccl_kit.runtime.join import finish, join, prepare

if rank := os.environ.get("OMPI_COMM_WORLD_RANK"):  # with mpirun, all ranks have the same environment
    os.environ["FAKE_CALLS"] = str(Path(os.environ["FAKE_CALLS"]).with_suffix(f".{rank}"))
    os.environ["FAKE_WORLD"] = f"{rank} {os.environ['OMPI_COMM_WORLD_SIZE']}"
try:
    launch = detect(os.environ)
    world = join(launch, prepare(launch, "digest", os.environ), sys.argv[1])
    finish(world)
except KitError as error:
    sys.stderr.write(error.render() + "\n")
    raise SystemExit(error.exit_code) from None
sys.stdout.write(json.dumps([world.launcher, world.rank, world.size, world.env.local_rank, world.is_main]) + "\n")
