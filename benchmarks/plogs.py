"""Plogs of a made-up job in HCCL's grammar, in the forms of several releases. Written from the published facts only."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from random import Random
from typing import Literal, NamedTuple

CARDS = 8
"""Of a server."""
Release = Literal["6.3", "8.0", "8.3", "8.5"]
RELEASES: tuple[Release, ...] = ("6.3", "8.0", "8.3", "8.5")
HEADERS = ("plain",) * 6 + ("glued", "blanks", "date", "nameless")
_HEADS = {
    "plain": "[{0}] {1}({2},{3}):{4}",
    "glued": "[{0}]{1}({2},{3}):{4}",
    "blanks": "[{0}] {1}({2}, {3}) :{4}",
    "date": "[{0}] {1}({2},{3}):{5}",
    "nameless": "[{0}] {1}({2},):{4}",
}
"""How the header of a line is written: level, module, pid, name of the process, date with a hyphen or a blank."""
Kind = Literal["debug", "run", "device", "screen"]


class Rank(NamedTuple):
    """A rank of the job: where it runs, and how its logs name it."""

    number: int
    server: int
    card: int
    pid: int
    host: str
    """The address of its server."""
    address: str
    """The address of its card."""
    folder: str
    """The folder of its server's logs."""

    @property
    def at(self) -> str:
        """`10.0.0.1/3`, as heartbeats name it."""
        return f"{self.host}/{self.card}"


class Job(NamedTuple):
    """The job before anything goes wrong. Times are in seconds since 1970, without the error of a server's clock."""

    ranks: tuple[Rank, ...]
    release: Release
    start: float
    connect_timeout: int
    exec_timeout: int
    group: str
    steps: int
    """Operators of the group that went well."""
    header: str

    @property
    def servers(self) -> int:
        """How many there are."""
        return self.ranks[-1].server + 1


def new_job(random: Random, ranks: int) -> Job:
    """A job of that many ranks on servers of CARDS cards."""
    start = 1_760_000_000 + random.random() * 20_000_000
    release: Release = random.choice(RELEASES)
    in_containers, names = random.random() < 0.3, random.choice(("address", "node-{}", "worker-{}"))
    pids = [random.randint(200, 60_000) for _ in range(ranks)]

    def rank(number: int) -> Rank:
        server, card = divmod(number, CARDS)
        host = f"10.20.{server // 200}.{server % 200 + 1}"
        pid = 1000 + card if in_containers else pids[number] * 100 + card
        folder = host if names == "address" else names.format(server)
        return Rank(number, server, card, pid, host, f"192.168.{100 + card}.{server + 1}", folder)

    every = tuple(map(rank, range(ranks)))
    name = f"{every[0].host}%eth0_60000_0_{int(start * 1e6)}"
    connect, execute = random.choice((120, 120, 300, 600)), random.choice((1836, 1836, 1800, 900))
    return Job(every, release, start, connect, execute, name, random.randint(3, 400), random.choice(HEADERS))


class Plogs:
    """The lines of all files, which are sorted by time when they are written."""

    def __init__(self, job: Job, random: Random) -> None:
        self.job, self.random = job, random
        self.clock_errors = [0.0] * job.servers
        self._lines: dict[tuple[Rank, Kind], list[tuple[float, int, str]]] = defaultdict(list)
        self.silent: set[int] = set()
        """Ranks that never start: they have no files."""
        self.ends: dict[int, float] = {}
        """When a rank's process ends: nothing is written later."""

    def put(
        self,
        rank: Rank,
        time: float,
        text: str,
        *,
        level: str = "ERROR",
        kind: Kind | None = None,
        module: str = "HCCL",
        source: str = "op_base.cc",
        stage: str = "",
    ) -> None:
        """A record of a rank; errors go to debug, all others to run. `stage` is what 8.5 writes in brackets."""
        kind = kind or ("debug" if level == "ERROR" else "run")
        lines = self._lines[rank, kind]
        lines.append(
            (time, len(lines), self._record(rank, time, text, level=level, module=module, source=source, stage=stage))
        )

    def has_errors(self, rank: Rank) -> bool:
        """Whether a rank has reported an error of its own."""
        return (rank, "debug") in self._lines

    def screen(self, rank: Rank, time: float, text: str) -> None:
        """A line as the program of a rank prints it, without the header of a plog."""
        lines = self._lines[rank, "screen"]
        lines.append((time, len(lines), text))

    def _record(self, rank: Rank, time: float, text: str, *, level: str, module: str, source: str, stage: str) -> str:
        release, pid = self.job.release, rank.pid
        line = self.random.randint(40, 1900)
        tid = pid if module != "HCCL" or level != "ERROR" else pid + 1000
        stamp = stamped(time + self.clock_errors[rank.server])
        name = "hccp_service.bin" if module == "HCCP" else "python3"
        head = _HEADS[self.job.header].format(
            level, module, pid, name, stamp, stamp.replace("-", " ").replace(" ", "-", 2)
        )
        head += f" [{source}:{line}]"
        if module == "HCCP":
            return f"{head}tid:{tid},rs_call({line}) : {text}"
        if module == "RUNTIME":
            return f"{head}{tid} Call:{text}"
        if release == "6.3":
            return f"{head}[{pid}][{tid}]{text}"
        if release == "8.5":
            return f"{head} [{tid}]{stage}{text}"
        return f"{head}[{tid}]{text}"

    def write(self, folder: Path, *, without: frozenset[int] = frozenset()) -> list[Path]:
        """The files, but for those of the ranks `without`; returns their paths."""
        paths = []
        for (rank, kind), lines in self._lines.items():
            if rank.number in self.silent or rank.number in without:
                continue
            end = self.ends.get(rank.number)
            kept = [text for time, _, text in sorted(lines) if end is None or time <= end]
            if not kept:
                continue
            path = folder / self._path(rank, kind)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(self._joined(kept))
            paths.append(path)
        return paths

    def _joined(self, lines: list[str]) -> str:
        """The lines; now and then two records share one, as after writes of two threads at once."""
        ends = ["" if self.random.random() < 0.001 else "\n" for _ in lines[1:]]
        return "".join(line + end for line, end in zip(lines, [*ends, "\n"], strict=True))

    def _path(self, rank: Rank, kind: Kind) -> str:
        stamp = stamped(self.job.start + self.clock_errors[rank.server])
        digits = "".join(char for char in stamp if char.isdecimal())[:17]
        if kind == "screen":
            return f"{rank.folder}/rank_{rank.number}.log"
        if kind == "device":
            return f"{rank.folder}/run/device-{rank.card}/device-{rank.pid}_{digits}.log"
        return f"{rank.folder}/{kind}/plog/plog-{rank.pid}_{digits}.log"


def stamped(time: float) -> str:
    """`2025-11-20-21:37:51.123.456`."""
    moment = datetime.fromtimestamp(time, timezone.utc)
    return f"{moment:%Y-%m-%d-%H:%M:%S}.{moment.microsecond // 1000:03}.{moment.microsecond % 1000:03}"


def put_start(logs: Plogs, rank: Rank, time: float, settings: dict[str, str] | None = None) -> None:
    """What a healthy rank writes until it has joined its group at `time`."""
    job = logs.job
    given = {"HCCL_CONNECT_TIMEOUT": str(job.connect_timeout), "HCCL_EXEC_TIMEOUT": str(job.exec_timeout)}
    for name, value in (given | (settings or {})).items():
        unit = "s" if name.endswith("TIMEOUT") else ""
        form = (
            "[HCCL_ENV] {} set by environment to [{}]{}" if job.release == "8.5" else "{} set by environment to [{}]{}"
        )
        logs.put(rank, time - 2, form.format(name, value, unit), level="INFO", source="externalinput.cc")
    put_noise(logs, rank, time - 1.5)
    if rank.number == 0:
        text = f"Entry-HcclGetRootInfo:rootInfo[{rank.pid:#x}], deviceLogicId[{rank.card}]"
        logs.put(rank, job.start - 0.01, text, level="INFO")
    put_entry(logs, rank, time)


def put_entry(logs: Plogs, rank: Rank, time: float) -> None:
    """The rank begins to join the group, which it tells to the root."""
    job = logs.job
    entry = {"6.3": "Entry-HcclCommInitRootInfo:", "8.0": "Entry-HcclCommInitRootInfo:"}.get(
        job.release, "Entry-HcclCommInitRootInfoInner:"
    )
    root = f"rootinfo: host ip[{job.ranks[0].host}] port[60000] nicDeploy[1] identifier[{job.group}]"
    text = f"{entry}ranks[{len(job.ranks)}], rank[{rank.number}], {root}, deviceLogicId[{rank.card}]"
    logs.put(rank, time, text, level="INFO")
    agent = (
        f"[HCCL_TRACE]SetupAgent rankNum[{len(job.ranks)}], rank[{rank.number}], rootInfo identifier[{job.group}], "
        f"server[{rank.host}%eth0], logicDevId[{rank.card}], phydevId[{rank.card}], deviceIp[{rank.address}]"
    )
    logs.put(rank, time + 0.2, agent, level="INFO", source="topoinfo_detect.cc")


def put_joined(logs: Plogs, rank: Rank, time: float, *, tls: bool = False) -> None:
    """The group is complete for this rank, and its card listens."""
    job = logs.job
    text = (
        f"hcclCommInitInfo:commId[{job.group}], rank[{rank.number}], totalRanks[{len(job.ranks)}], "
        f"serverId[{rank.host}%eth0], deviceType[2], logicDevId[{rank.card}], identifier[{job.group}]"
    )
    logs.put(rank, time, text, level="INFO", source="hccl_comm.cc")
    listening = f"[Start][Nic]Listen on ip[{rank.address}], port[16666] sucess, devPhyId[{rank.card}]"
    logs.put(rank, time + 0.1, listening, level="INFO", source="hccl_socket.cc")
    switch = f"TLS SWITCH ({int(tls)})"
    logs.put(rank, time - 0.5, switch, level="INFO", kind="device", module="HCCP", source="rs_ssl.c")


def put_noise(logs: Plogs, rank: Rank, time: float) -> None:
    """Lines that say nothing about the fault."""
    random = logs.random
    for _ in range(random.randint(0, 4)):
        level, module, source, text = random.choice(_NOISE)
        at, shown = time + random.random(), text.format(random.randint(0, 9999))
        logs.put(rank, at, shown, level=level, module=module, source=source)


_NOISE = (
    ("INFO", "RUNTIME", "stream.cc", "Create stream success, stream_id={}."),
    ("EVENT", "DRV", "devdrv_manager.c", "open device ok, count {}"),
    ("WARNING", "GE", "graph_manager.cc", "graph {} is not cached, build it again"),
    ("INFO", "HCCL", "hccl_alg.cc", "algorithm of level 1 is selected by data size {}"),
    ("EVENT", "PROFILING", "prof_acl.cpp", "profiling is not enabled ({})"),
    ("INFO", "HCCL", "op_base.cc", "stream {} of the operator is captured"),
    ("WARNING", "TDT", "tsd_client.cpp", "package {} is already loaded"),
)


def put_link_timeout(logs: Plogs, rank: Rank, time: float, peers: list[Rank], *, tls: str = "DISABLE") -> None:
    """The links of a rank to its peers are not there in time: the table of links, and who called whom."""
    job, stage = logs.job, "[InitChannelStage][Timeout]"
    server_role = int(rank.number > peers[0].number)
    unit = "" if job.release in ("6.3", "8.0") else " s"
    waited = f"role[{1 - server_role}] rank[{rank.number}] timeout[{job.connect_timeout}{unit}]"
    put = partial(logs.put, rank, source="hccl_socket_manager.cc")
    put(time, f"[Wait][LinkEstablish]wait socket establish timeout, {waited}")
    put(time + 0.001, "   _________________________LINK_ERROR_INFO___________________________")
    put(time + 0.002, f"   |  comm error, device[{rank.card}] ")
    old = "   |  dest_ip(rank_id)  |  src_ip(rank_id)   |   Role   |   Status   |   "
    new = "   |  dest_ip(user_rank)  |   dest_port   |  src_ip(user_rank)   |   src_port   |   MyRole   |   Status   |"
    has_tls = job.release in ("8.3", "8.5")
    put(time + 0.003, old if job.release == "6.3" else new + ("   TlsStatus   |" * has_tls))
    put(time + 0.004, "   |--------------------|--------------------|----------|------------|")
    for n, peer in enumerate(peers):
        role = "server" if rank.number > peer.number else "client"
        to, own = f"{peer.address}({peer.number})", f"{rank.address}({rank.number})"
        if job.release == "6.3":
            row = f"   |  {to}  |  {own}  |  {role}  | {'no connect' if role == 'server' else 'time out'} |"
        else:
            row = f"   |  {to}  |  16666  |  {own}  |  0  |  {role}  | time out |" + f" {tls} |" * has_tls
            row += " LinkInfo |" if job.release == "8.5" else ""
        put(time + 0.005 + n / 1e4, row)
    put(time + 0.01, "   ___________________________________________________________________  ")
    why = "the connection failure between this device and target device may be due to the following reasons:"
    put(time + 0.011, why)
    for n, peer in enumerate(peers):
        if job.release == "8.5":
            remote = (
                f"remoteRank[{peer.number}]-remoteUserrank[{peer.number}]-remoteIpAddr[{peer.host}/{peer.card}], "
                f"machineType[{n % 2}], linkMode[1], isUsedRdma[1], tag[{operator(job)}]"
            )
            local = f"-localIpAddr[{rank.host}/{rank.card}]"
        else:
            remote = (
                f"dst_rank[{peer.number}]-remoteUserrank[{peer.number}]-remote_ip_addr[{peer.host}], "
                f"machineType[{n % 2}], serverId[{rank.host}], linkMode[1], tag[{operator(job)}]"
            )
            local = f"-localIpAddr[{rank.host}]"
        text = (
            f"Transport init error! createLink para:rank[{rank.number}]-localUserrank[{rank.number}]{local}, {remote}"
        )
        logs.put(rank, time + 0.02 + n / 1e4, f"[Create][DestLink]{text}", source="transport_manager.cc", stage=stage)
    put_code(
        logs, rank, time + 0.03, "EI0006", "Getting socket times out. Reason: the remote does not initiate a connect"
    )
    logs.put(rank, time + 0.04, f"[{operator(job).split('_')[0]}]call trace: hcclRet -> 9")


def operator(job: Job, name: str = "AllReduce") -> str:
    """The tag of an operator of the group."""
    return f"{name}_{job.group}"


def put_code(logs: Plogs, rank: Rank, time: float, code: str, text: str) -> None:
    """A message with a code, as the screen shows it."""
    stamp = stamped(time + logs.clock_errors[rank.server])
    form = {
        "6.3": f"{code}: {stamp} {text}",
        "8.0": f"{code}: {stamp} {text}",
        "8.3": f"{code}: [PID: {rank.pid}] {stamp} {text}",
        "8.5": f"[PID: {rank.pid}] {stamp} Error_Of_Job({code}): {text}",
    }[logs.job.release]
    logs.screen(rank, time, form)


def put_notify_timeout(
    logs: Plogs,
    rank: Rank,
    time: float,
    awaited: int | None,
    *,
    index: int,
    name: str = "AllReduce",
    count: int = 4096,
    data_type: str = "float16",
) -> None:
    """An operator waited for another rank until the time-out of execution."""
    job = logs.job
    stage, source = "[TaskExecStage][Timeout][Host]", "task_exception_handler.cc"
    before = "" if job.release == "8.5" else "[TaskExceptionHandler][Callback]"
    unknown = {"6.3": "unknown", "8.0": "4294967295"}.get(job.release, "4294967295")
    where = f"streamID:[{37 + rank.card}], taskID[{index * 3 % 60000}], "
    kind = "taskType[Notify Wait], " if job.release in ("6.3", "8.0") else ""
    position = f"index[{index}], " if job.release == "6.3" else ""
    algorithm = "AlgType(level 0-1-2):[fullmesh-ring-ring]."
    details = (
        f"base information is {where}{kind}tag[{operator(job, name)}], {position}{algorithm}",
        f"para information is notify id:[0x{rank.number:016x}], stage:[ffffffff], "
        f"remote rank:[{unknown if awaited is None else awaited}].",
        f"groupRank information is group:[{job.group}], user define information[], rankSize[{len(job.ranks)}], "
        f"rankId[{rank.number}].",
        f"opData information is timeStamp:[{stamped(time - job.exec_timeout + logs.clock_errors[rank.server])}], "
        f"deviceId[{rank.card}], index[{index}], count[{count}], reduceType[sum], src[0x12c0c0013000], "
        f"dst[0x12c0c0014000], dataType[{data_type}].",
    )
    for n, text in enumerate(details):
        logs.put(rank, time + n / 1e4, f"{before}Task run failed, {text}", source=source, stage=stage)
    reason = f"nothing was received from remote rank [{unknown}]."
    put_code(
        logs, rank, time + 0.01, "EI0002", f"The wait execution of the Notify register times out. Reason: {reason}"
    )


class Beat(NamedTuple):
    """That a rank is lost, stuck or reports broken packets, and who saw it."""

    culprit: Rank
    status: Literal["LOST", "STUCK", "ERROR CQE"]
    informer: Rank
    time: float


def put_heartbeat(logs: Plogs, rank: Rank, time: float, beat: Beat) -> None:
    """The event in the run log of a rank that hears of it."""
    text = f"rank [{beat.culprit.at}] status[{beat.status}] by {{}}rank [{beat.informer.at}]"
    if logs.job.release == "8.5":
        event = f"[HeartbeatAbnormal]local rank [{rank.at}]: crimer {text.format('informer ')}"
        logs.put(rank, time, event, level="INFO", source="heartbeat.cc", stage="[TaskExecStage]")
    else:
        event = f"[HCCL_TRACE]rank [{rank.at}]: {text.format('')}"
        logs.put(rank, time, event, level="INFO", source="heartbeat.cc")


def put_verdict(logs: Plogs, rank: Rank, time: float, beat: Beat) -> None:
    """HCCL's own conclusion, which a rank prints after its operator has failed."""
    kind = {"LOST": "Heartbeat Lost", "STUCK": "Stuck", "ERROR CQE": "Error cqe"}[beat.status]
    moment = datetime.fromtimestamp(beat.time + logs.clock_errors[rank.server], timezone.utc)
    text = (
        f"Cluster Exception Location[IP/ID]:[{beat.culprit.at}], Arrival Time:[{moment:%a %b %d %H:%M:%S %Y}], "
        f"Discoverer:[{beat.informer.at}], ExceptionType:[{kind} Occurred], Possible Reason:1. Process has exited, "
        "2. Network Disconnected"
    )
    stage = "[TaskExecStage][HeartbeatAbnormal]"
    logs.put(rank, time, text, source="task_exception_handler.cc", stage=stage)
