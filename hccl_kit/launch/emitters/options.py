"""The options of the launchers, and which values they accept.

Nothing that comes from the user reaches a directive of Slurm or a name in Kubernetes unless it matches a pattern, so no
such value contains a line break, a space or a quote.

Sources: sbatch(1) and srun(1) of Slurm 22.05 to 25.05; pyxis 0.20, "Usage"; apptainer-exec(1) 1.3; names of Kubernetes
by RFC 1035 and 1123; kubernetes-sigs/kueue, apis/kueue/v1beta2/topology_types.go at 046d2efa.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from hccl_kit.base.errors import KitError
from hccl_kit.base.help_text import HELP
from hccl_kit.base.message import Message
from hccl_kit.base.translation import translated
from hccl_kit.table.document import shown

SUBDOMAIN = r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*"
"""The form of the names of most objects of Kubernetes (RFC 1123), of any length."""
_LABEL = r"(?=.{1,63}\Z)[a-z]([a-z0-9-]*[a-z0-9])?"
"""RFC 1035, which services require; RFC 1123 would allow a digit at the start."""
_OBJECT = rf"(?=.{{1,63}}\Z){SUBDOMAIN}"
_LEVEL = rf"(?=.{{1,316}}\Z)(?:{SUBDOMAIN}/)?(?:[A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_NAME = r"[A-Za-z0-9][A-Za-z0-9._+-]{0,127}"
_GRES = rf"{_NAME}(:{_NAME})?(:[0-9]{{1,9}})?"
_RANGE = r"[0-9]{1,7}(-[0-9]{1,7}(:[0-9]{1,7})?)?"
_PATH = r"[A-Za-z0-9./_][A-Za-z0-9._/@+-]{0,255}"
_MOUNT = rf"{_PATH}:{_PATH}(:r[ow])?"


class Option(NamedTuple):
    """A keyword of `emit`, on the command line `--NAME` with hyphens; a flag if it has no metavar.

    `form` is the pattern of its values; the emitter checks those of an option without it. `accepted` says the same in
    words, where `help` does not. `settles` is the id of the HK5 rule whose finding this option resolves.
    """

    name: str
    help: str
    metavar: str | None = None
    form: str = ""
    accepted: str = ""
    settles: str | None = None

    @property
    def flag(self) -> str:
        """The option on the command line."""
        return f"--{self.name.replace('_', '-')}"


_LABEL_IN_WORDS = Message(
    "launch.accepted.label", "at most 63 lower-case letters, digits and hyphens, with a letter first and no hyphen last"
)
_OBJECT_IN_WORDS = Message(
    "launch.accepted.object",
    "at most 63 lower-case letters, digits, hyphens and dots, with a letter or digit first, last and beside each dot",
)
_MIB = r"[1-9][0-9]{0,11}(Mi|Gi|Ti|M|G|T)"
_PROCESSORS = r"[1-9][0-9]{0,5}(\.[0-9]{1,3})?|0\.[0-9]{1,3}|[1-9][0-9]{0,8}m"
_RESOURCE = rf"(?=.{{1,253}}/){SUBDOMAIN}/[A-Za-z0-9]([A-Za-z0-9._-]{{0,61}}[A-Za-z0-9])?"
_PODS_IMAGE = r"[A-Za-z0-9][A-Za-z0-9._/:@-]{0,511}"
_NODES = r"[A-Za-z0-9][A-Za-z0-9._,\[\]-]{0,9999}"
_TIME = r"([0-9]{1,9}-)?[0-9]{1,9}(:[0-9]{1,2}){0,2}|UNLIMITED"
_IMAGE = r"[A-Za-z0-9./_][A-Za-z0-9._/:@#+-]{0,511}"

PODS = (
    Option("name", "name of the job (default: ascend4p for 4 cards)", "NAME", _LABEL, _LABEL_IN_WORDS),
    Option("image", "container image (required)", "IMAGE", _PODS_IMAGE, "REGISTRY/NAME:TAG"),
    Option("namespace", "Kubernetes namespace (default: default)", "NAME", _LABEL, _LABEL_IN_WORDS),
    Option("volumes", "claims or host folders to mount, CLAIM:/data,/models:/models:ro", "LIST"),
    Option("log_volume", "claim or host folder for the logs (default: they are lost with the pods)", "SOURCE"),
    Option("cpus", "processors of a pod, such as 64 (default: no limit)", "N", _PROCESSORS),
    Option("memory", "memory of a pod with its /dev/shm, such as 512Gi (default: no limit)", "SIZE", _MIB),
    Option("image_has_kit", "run the hccl-kit of the image, which must have this version"),
)
HOST_NETWORK = Option("host_network", "run pods in the network of their hosts")
FIXED_TABLE = Option(
    "fixed_table", "ranks read TABLE; without it, the cluster selects servers and cards", settles="HK532"
)
MAX_RESTARTS = Option(
    "max_restarts",
    "start the job again after a failure, at most N times (default: 0); pytorchjob and lws refuse it",
    "N",
    "[0-9]{1,3}|1000",
    Message("launch.accepted.range", "{first} to {last}", first=0, last=1000),
)
_QUEUE = "LocalQueue of Kueue that admits the job"
_TOPOLOGY = "where Kueue puts the pods: required=LABEL, preferred=LABEL or unconstrained"
_MAP = "ConfigMap into which the cluster writes the table; pods wait for it"
NUMBERED = (
    *PODS,
    HOST_NETWORK,
    FIXED_TABLE,
    Option("resource", "resource of the cards (default: huawei.com/Ascend910)", "NAME", _RESOURCE),
    Option("kueue_queue", _QUEUE, "NAME", _OBJECT, _OBJECT_IN_WORDS),
    Option("kueue_topology", _TOPOLOGY, "LEVEL", f"unconstrained|(required|preferred)={_LEVEL}"),
    MAX_RESTARTS,
    Option("table_map", _MAP, "NAME", _OBJECT, _OBJECT_IN_WORDS),
)
_SWITCHES = "take nodes that are on at most N switches of topology.conf"
_SIGNAL = "signal to the ranks before the time limit, such as USR2@120"
_CARDS = "cards of each node, by their name in Slurm here, such as npu or npu:8"
_MPI = "type for srun --mpi, such as pmix, for ranks that call MPI"
SLURM = (
    Option("job_name", "job name in squeue", "NAME", _NAME),
    Option("partition", "partition of the job", "NAME", rf"{_NAME}(,{_NAME})*"),
    Option("nodelist", "nodes of the servers, in the order of the table", "LIST", _NODES, '"n1,n2" or "n[01-16]"'),
    Option("switches", _SWITCHES, "N[@TIME]", r"[1-9][0-9]{0,3}(@[0-9][0-9:-]{0,20})?", '"1" or "1@12:00:00"'),
    Option("time", "time limit, such as 12:00:00", "LIMIT", _TIME),
    Option("signal", _SIGNAL, "SIG@SECONDS", r"(B:)?(TERM|INT|USR1|USR2)@[1-9][0-9]{0,4}"),
    Option("array", "submit a job array, such as 0-9%%1", "LIST", rf"{_RANGE}(,{_RANGE}){{0,99}}(%[1-9][0-9]{{0,6}})?"),
    Option("gres", _CARDS, "GRES", rf"{_GRES}(,{_GRES})*"),
    Option("hetjob", "heterogeneous job, for servers with different numbers of cards", settles="HK521"),
    MAX_RESTARTS,
    Option("mpi", _MPI, "TYPE", r"pmix(_v[1-9])?|pmi2|cray_shasta", "pmix, pmix_v1 to pmix_v9, pmi2, cray_shasta"),
    Option("container_image", "run the ranks in this image with pyxis and enroot", "IMAGE", _IMAGE),
    Option("apptainer_image", "run the ranks in this image with apptainer", "IMAGE", _IMAGE),
    Option(
        "container_mounts", "further folders to mount, SOURCE:TARGET[:ro],...", "LIST", rf"{_MOUNT}(,{_MOUNT}){{0,99}}"
    ),
)
_TENSOR = "cards of one copy of the model (default: those of the smallest server)"
_NIC = "network interface (default: the one with the address of the server)"
VLLM = (
    Option("tensor_parallel_size", _TENSOR, "N", "[1-9][0-9]{0,4}"),
    Option("nic", _NIC, "NAME", r"[A-Za-z0-9][A-Za-z0-9._:-]{0,14}"),
)


def assert_accepted(options: Iterable[Option], given: Mapping[str, object]) -> None:
    """Raises KitError for a value that its option does not accept."""
    for option in options:
        value = given.get(option.name)
        if option.form and value is not None and not re.fullmatch(option.form, str(value), re.ASCII):
            raise KitError(
                "launch.option-value",
                "{option} is {value}; accepted: {accepted}",
                option=option.flag,
                value=shown(str(value)),
                accepted=option.accepted or translated(option.help, HELP).replace("%%", "%"),
            )
