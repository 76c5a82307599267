"""The launchers that may stand behind --, how each is recognised, and what to write instead.

Sources, read in November 2026: torch 2.13.0 (distributed/run.py), mindspore 2.10.0 (parallel/cluster/run.py), DeepSpeed
0.19.6 (launcher/runner.py), accelerate 1.15.0 (commands/launch.py), and the entry points of ms_swift 4.6.0,
llamafactory 0.9.5, xtuner 0.2.0, verl 0.9.1 and lightning 2.6.6; manuals of Open MPI 5.0, Slurm 25.05, Horovod and Ray.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from hccl_kit.base.message import Message
from hccl_kit.base.wording import joined
from hccl_kit.launch.nested.words import Given, Program
from hccl_kit.runtime.worker_env import STARTS_TORCHRUN

Rewrite = Callable[[Program, Sequence[Given], Sequence[str]], "list[str] | None"]
"""The command of a rank, without wrappers, from the options of the launcher and the words after them."""


def _rest(_: Program, options: Sequence[Given], rest: Sequence[str]) -> list[str] | None:
    """The words after the options; what mpirun sets with -x NAME=VALUE is kept."""
    if ":" in rest:  # several programs of mpirun
        return None
    assigned = [value for name, value, _ in options if name in ("-x", "--x") and "=" in value]
    return ["env", *assigned, *rest] if assigned else [*rest]


def _python(program: Program, options: Sequence[Given], rest: Sequence[str]) -> list[str]:
    """A script behind the interpreter, unless an option says that it is a module or a program."""
    names = {name for name, _, _ in options}
    if "--no-python" in names:
        return [*rest]
    interpreter = ("python",) if program.interpreter is None else program.interpreter
    return [*interpreter, *(["-m"] if names & {"-m", "--module"} else []), *rest]


def _msrun(program: Program, _: Sequence[Given], rest: Sequence[str]) -> list[str]:
    return [*rest] if rest[0] in ("python", "python3", "pytest") else _python(program, (), rest)


def _llamafactory(_: Program, __: Sequence[Given], rest: Sequence[str]) -> list[str]:
    return ["python", "-m", "llamafactory.launcher", *rest]


_OF_PROCESSES = (
    *("--multi-gpu", "--num-processes", "--num-machines", "--machine-rank", "--main-process-ip"),
    *("--main-process-port", "--gpu-ids", "--same-network", "--rdzv-backend", "--rdzv-conf", "--max-restarts"),
    *("--monitor-interval", "--role", "--tee", "-t"),
)
"""Options of `accelerate launch` that the rank table replaces."""
_OF_OTHER_LAUNCHERS = ("--use-deepspeed", "--use-fsdp", "--use-megatron-lm", "--tpu", "--config-file")
"""Options with which `accelerate launch` starts torchrun or deepspeed even for one process; a file may hold them."""
_ALONE = "--num-processes"


def _accelerate(program: Program, options: Sequence[Given], rest: Sequence[str]) -> list[str] | None:
    """The same with one process, which keeps the variables of its rank."""
    if {name for name, _, _ in options} & set(_OF_OTHER_LAUNCHERS):
        return None
    kept = [word for name, _, words in options if name not in _OF_PROCESSES for word in words]
    start = [*program.interpreter, "-m"] if program.interpreter else []
    launch = ["launch"] if program.arguments[:1] == ("launch",) else []
    return [*start, program.path, *launch, "--num_processes", "1", *kept, *rest]


def _is_many(program: Program) -> bool:
    """Whether `accelerate launch` starts several processes, or may do so."""
    given = " ".join(program.arguments).replace("_", "-").replace("=", " ").split()
    is_one = "1" in given[given.index(_ALONE) + 1 :][:1] if _ALONE in given else "--cpu" in given
    return not is_one or bool({"--multi-gpu", "--mpirun-hostfile", *_OF_OTHER_LAUNCHERS} & set(given))


def _sets_size(program: Program) -> bool:
    """Whether `env` brings back what launchers remove from ranks."""
    return any(program.variables.get(name) for name in STARTS_TORCHRUN)


class Nested(NamedTuple):
    """A launcher: the names of its programs, scripts and modules, and the subcommands that start a job, if it has any.

    `values` are its options with a value, `flags` those without, as `options_of` spells them. `starts`: whether a
    command starts a job at all. `advice` is for commands that cannot be read.
    """

    names: tuple[str, ...]
    values: str = ""
    flags: str = ""
    rewrite: Rewrite = _rest
    subcommands: tuple[tuple[str, ...], ...] = ()
    starts: Callable[[Program], bool] = lambda _: True
    advice: Message = Message(
        "launch.nested.advice", "write after -- what one rank runs, such as: {command}", command="python train.py"
    )
    note: str = ""
    is_driver: bool = False
    """It is to run once per job, so a job of one rank may run it."""

    @property
    def commands(self) -> tuple[tuple[str, ...], ...]:
        """The first words of the commands that start a job of several ranks, whatever variables are set."""
        if self.is_driver or self.starts is _sets_size:
            return ()
        return tuple((name, *words) for name in self.names for words in self.subcommands or ((),))


_TORCHRUN = (
    "--nnodes --nproc-per-node --rdzv-backend --rdzv-endpoint --rdzv-id --rdzv-conf --max-restarts --monitor-interval"
    " --start-method --event-log-handler --role --log-dir -r --redirects -t --tee --local-ranks-filter"
    " --duplicate-stdout-filters --duplicate-stderr-filters --node-rank --master-addr --master-port --local-addr"
    " --logs-specs --numa-binding --signals-to-handle --shutdown-timeout"
)
_TORCHRUN_FLAGS = "--standalone -m --module --no-python --virtual-local-rank --use-env"
_LOCAL_RANK = Message(
    "launch.nested.local-rank",
    "\n  the ranks have LOCAL_RANK in their environment; they get no argument --local_rank=N",
)
_ONCE = Message(
    "launch.nested.once",
    "run it once on one server, without a rank table; it brings its processes to the servers by itself",
)

ROWS: tuple[Nested, ...] = (
    Nested(
        ("torchrun", "torch_npu_run", "torch.distributed.run", "torch_npu.distributed.run"),
        _TORCHRUN,
        _TORCHRUN_FLAGS,
        _python,
    ),
    Nested(("torch.distributed.launch",), _TORCHRUN, _TORCHRUN_FLAGS, _python, note=_LOCAL_RANK),
    Nested(
        ("msrun", "mindspore.parallel.cluster.run"),
        "--worker-num --local-worker-num --master-addr --master-port --node-rank --log-dir --join --cluster-time-out"
        " --bind-core --bind-numa --sim-level --sim-rank-id --rank-table-file --worker-log-name --tail-worker-log",
        rewrite=_msrun,
    ),
    Nested(
        ("mpirun", "mpiexec", "mpiexec.hydra", "orterun", "prterun", "prun"),
        "-n -np --n --np -c -N -H -host --host -hostfile --hostfile -machinefile --machinefile -f -ppn -perhost -x --x"
        " -map-by --map-by -bind-to --bind-to --rank-by -wdir --wdir -output --output --prefix",
        "--allow-run-as-root -oversubscribe --oversubscribe --report-bindings --tag-output -q --quiet -v --verbose",
    ),
    Nested(
        ("srun",),
        "-n --ntasks -N --nodes --ntasks-per-node -p --partition -w --nodelist -c --cpus-per-task -J --job-name -t"
        " --time --gres --gpus -o --output -e --error -A --account --mem --mpi --cpu-bind --kill-on-bad-exit",
        "-l --label -K --exclusive -u --unbuffered -Q --quiet -v --verbose --overlap",
    ),
    Nested(
        ("deepspeed", "deepspeed.pt", "deepspeed.launcher.runner", "deepspeed.launcher.launch"),
        "-H --hostfile -i --include -e --exclude --num-nodes --num-gpus --master-addr --master-port --launcher"
        " --launcher-args --node-rank --bind-core-list --enable-each-rank-log --world-info --min-elastic-nodes"
        " --max-elastic-nodes --ssh-port",
        "--module --no-python --no-local-rank --no-ssh-check --no-ssh --force-multi --save-pid --elastic-training"
        " --bind-cores-to-rank",
        _python,
        note=_LOCAL_RANK,
    ),
    Nested(
        ("horovodrun", "horovod.runner.launch"), "-np --num-proc -H --hosts -hostfile --hostfile -p", "--gloo --mpi"
    ),
    Nested(
        ("colossalai",),
        "--nproc-per-node --hostfile -H --host --include --exclude --num-nodes --master-port --master-addr --ssh-port",
        "-m",
        _python,
        (("run",),),
    ),
    Nested(
        ("fabric",),
        "--devices --num-nodes --node-rank --main-address --main-port",
        rewrite=_python,
        subcommands=(("run",),),
    ),
    *(
        Nested(
            names,
            "--num-processes --num-machines --machine-rank --main-process-ip --main-process-port --gpu-ids"
            " --rdzv-backend --rdzv-conf --max-restarts --monitor-interval --role -t --tee --log-dir --mixed-precision"
            " --num-cpu-threads-per-process --dynamo-backend --dynamo-mode --gradient-accumulation-steps --config-file",
            "-q --quiet --cpu --multi-gpu --enable-cpu-affinity --dynamo-use-fullgraph --dynamo-use-dynamic"
            " --use-deepspeed --use-fsdp --use-megatron-lm --same-network -m --module --no-python --debug",
            _accelerate,
            subcommands,
            _is_many,
            Message(
                "launch.nested.accelerate",
                "write after --: accelerate launch --num_processes 1 SCRIPT, without --multi_gpu, --use_fsdp,"
                " --use_deepspeed and --config_file\n  FSDP and DeepSpeed are set in the program then, or by variables"
                " (ACCELERATE_USE_FSDP, FSDP_*, ACCELERATE_USE_DEEPSPEED)",
            ),
        )
        for names, subcommands in (
            (("accelerate",), (("launch",),)),
            (("accelerate-launch", "accelerate.commands.launch"), ()),
        )
    ),
    Nested(
        ("swift", "megatron", "xtuner"),
        starts=_sets_size,
        rewrite=lambda *_: None,
        advice=Message(
            "launch.nested.without-size",
            "write it without {variables}: it then runs as one rank",
            variables=joined(STARTS_TORCHRUN[:2]),
        ),
    ),
    Nested(
        ("llamafactory-cli", "lmf"),
        rewrite=_llamafactory,
        subcommands=(("train",),),
        advice=Message(
            "launch.nested.llamafactory", "write after --: python -m llamafactory.launcher, and what follows train"
        ),
    ),
    Nested(
        ("ray",), subcommands=(("start",), ("job", "submit")), rewrite=lambda *_: None, advice=_ONCE, is_driver=True
    ),
    Nested(("verl.trainer.main_ppo",), rewrite=lambda *_: None, advice=_ONCE, is_driver=True),
)
