"""What ranks of a made-up job log, in the forms of several releases. Written from the published facts only."""

from __future__ import annotations

from datetime import datetime, timezone
from functools import partial
from typing import Literal, NamedTuple

from benchmarks.plogs import Group, Job, Plogs, Rank, stamped


def put_start(
    logs: Plogs, rank: Rank, time: float, settings: dict[str, str] | None = None, address: str | None = None
) -> None:
    """What a healthy rank writes until it has joined its group at `time`, with this `address` of its host."""
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
    put_entry(logs, rank, time, address)


def put_entry(logs: Plogs, rank: Rank, time: float, address: str | None = None) -> None:
    """The rank begins to join the group, and reports to the root."""
    job = logs.job
    entry = {"6.3": "Entry-HcclCommInitRootInfo:", "8.0": "Entry-HcclCommInitRootInfo:"}.get(
        job.release, "Entry-HcclCommInitRootInfoInner:"
    )
    root = f"rootinfo: host ip[{job.ranks[0].host}] port[60000] nicDeploy[1] identifier[{job.group}]"
    text = f"{entry}ranks[{len(job.ranks)}], rank[{rank.number}], {root}, deviceLogicId[{rank.card}]"
    logs.put(rank, time, text, level="INFO")
    agent = (
        f"[HCCL_TRACE]SetupAgent rankNum[{len(job.ranks)}], rank[{rank.number}], rootInfo identifier[{job.group}], "
        f"server[{address or f'{rank.host}%eth0'}], logicDevId[{rank.card}], phydevId[{rank.card}], "
        f"deviceIp[{rank.address}]"
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


def put_groups(logs: Plogs, rank: Rank, time: float) -> None:
    """The rank joins its communicators beside the one of all ranks."""
    job = logs.job
    for n, group in enumerate(job.groups(rank)):
        own, size, at = group.members.index(rank.number), len(group.members), time + n
        agent = (
            f"[HCCL_TRACE]SetupAgent rankNum[{size}], rank[{own}], rootInfo identifier[{group.name}], "
            f"server[{rank.host}%eth0], logicDevId[{rank.card}], phydevId[{rank.card}], deviceIp[{rank.address}]"
        )
        logs.put(rank, at, agent, level="INFO", source="topoinfo_detect.cc")
        text = (
            f"hcclCommInitInfo:commId[{group.name}], rank[{own}], totalRanks[{size}], "
            f"serverId[{rank.host}%eth0], deviceType[2], logicDevId[{rank.card}], identifier[{group.name}]"
        )
        logs.put(rank, at + 0.5, text, level="INFO", source="hccl_comm.cc")


def put_harmless(logs: Plogs, rank: Rank, time: float) -> None:
    """An error that some installations log at every start, and that breaks nothing."""
    module, source, text = logs.random.choice(_HARMLESS)
    logs.put(rank, time, text.format(rank.card), module=module, source=source)


_HARMLESS = (
    ("DRV", "devdrv_info.c", "[devmng][drvGetDevProbeNum] ioctl of device {} is not permitted, ret=-1"),
    ("TDT", "tsd_client.cpp", "[TsdClient][deviceId={}] get version of the package failed, use the default"),
    ("GE", "plugin_manager.cc", "Failed to open libcust_opsproto_{}.so: cannot open shared object file"),
    ("FE", "fusion_config.cc", "Can not open fusion_switch_{}.cfg, file does not exist"),
    ("PROFILING", "prof_plugin.cpp", "dlopen of libmsprofiler.so failed on {}, profiling is off"),
    ("ASCENDCL", "acl_json.cc", "parse of acl_{}.json failed, no such key: dump"),
    ("RUNTIME", "api_impl.cc", "query of feature type 7 is not supported on device {}, retCode=0x7110025"),
)


def put_noise(logs: Plogs, rank: Rank, time: float) -> None:
    """Lines that have nothing to do with the fault."""
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
    group: Group | None = None,
) -> None:
    """An operator of a group waited for another rank, as the job counts them, until the timeout of execution."""
    job = logs.job
    group = group or job.world
    if awaited is not None:
        awaited = group.members.index(awaited)
    stage, source = "[TaskExecStage][Timeout][Host]", "task_exception_handler.cc"
    before = "" if job.release == "8.5" else "[TaskExceptionHandler][Callback]"
    unknown = {"6.3": "unknown", "8.0": "4294967295"}.get(job.release, "4294967295")
    where = f"streamID:[{37 + rank.card}], taskID[{index * 3 % 60000}], "
    kind = "taskType[Notify Wait], " if job.release in ("6.3", "8.0") else ""
    position = f"index[{index}], " if job.release == "6.3" else ""
    algorithm = "AlgType(level 0-1-2):[fullmesh-ring-ring]."
    details = (
        f"base information is {where}{kind}tag[{name}_{group.name}], {position}{algorithm}",
        f"para information is notify id:[0x{rank.number:016x}], stage:[ffffffff], "
        f"remote rank:[{unknown if awaited is None else awaited}].",
        f"groupRank information is group:[{group.name}], user define information[], rankSize[{len(group.members)}], "
        f"rankId[{group.members.index(rank.number)}].",
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
    """The event that `culprit` is lost, is stuck or reports broken packets; `informer` is the rank that saw it."""

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
