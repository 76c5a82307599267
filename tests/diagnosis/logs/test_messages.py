"""Each kind of line is parsed to its facts, with all of their values."""

# ruff: noqa: E501 - log lines are not wrapped

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.diagnosis.errors.pytorch import MISMATCH
from hccl_kit.diagnosis.facts import (
    AllReachable,
    ArgumentMismatch,
    Card,
    ErrorCqe,
    Exited,
    Fact,
    Fault,
    GroupNamed,
    Heartbeat,
    Joined,
    JoinFailed,
    LinkFailed,
    LinkRow,
    LinkTimedOut,
    ListenFailed,
    Located,
    NeverConnected,
    OperatorEntered,
    OperatorTimedOut,
    Oversized,
    P2PTimedOut,
    PeerClosed,
    Progress,
    RootCreated,
    RootSilent,
    RootUnreachable,
    Setting,
    SuperPod,
    Tls,
    Unreachable,
    VersionMismatch,
    Watchdog,
)
from tests.diagnosis.logs.lines import GROUP, facts_of, info, plog

_ENTRY = (
    f"ranks[16], rank[9], rootinfo: host ip[10.1.2.3] port[60000] nicDeploy[1] identifier[{GROUP}], deviceLogicId[1]"
)
_JOINED = Joined(GROUP, 9, 16, None, 1, None, None, "10.1.2.3")
_CREATE = "Transport init error! createLink para:rank[1]-localUserrank[5]-localIpAddr[{}], {}-remoteUserrank[6]-{}, "
_BASE = f"base information is streamID:[3], taskID[7], taskType[Notify Wait], tag[AllReduce_{GROUP}]."

CASES: tuple[tuple[str, list[Fact]], ...] = (
    (" iteration       20/     500 | consumed samples:         640 | lm loss: 9.1E+00 |\n", [Progress(20, None)]),
    ("epoch: 1 step: 20, loss is 2.3\n", [Progress(20, None)]),
    ("INFO - { Epoch:[  1/  2], step:[   20/  500], loss: 9.1, per_step_time: 812ms }\n", [Progress(20, None)]),
    ("{'loss': 2.31, 'learning_rate': 5e-05, 'epoch': 3.0}\n", [Progress(3, None)]),
    (info(f"Entry-HcclCommInitRootInfo:{_ENTRY}"), [_JOINED]),
    (info(f"Entry-HcclCommInitRootInfoInner:{_ENTRY}"), [_JOINED]),
    (info(f"Entry-HcclCommInitRootInfoConfigInner: {_ENTRY}"), [_JOINED]),
    (info(f"Entry-HcclCommInitRootInfo V910_95:{_ENTRY}"), [_JOINED]),
    (
        info(
            f"[HCCL_TRACE]SetupAgent rankNum[16], rank[9], rootInfo identifier[{GROUP}], server[10.1.2.4%eth0], "
            "logicDevId[1], phydevId[5], deviceIp[192.168.7.5]"
        ),
        [Joined(GROUP, 9, 16, "10.1.2.4", 1, 5, "192.168.7.5", "10.1.2.3")],
    ),
    (
        "[TRACE] HCCL(77,python):2023-07-04-21:46:57.226.121 [status:init] [hcom.cc:1][hccl-77-0-16-hccl_world_group][9]"
        "hcom init by file success,take time [3]us, rankTablePath[/t.json], rankNum[16], rank[9],server[10.1.2.4], "
        "device[5]\n",
        [Joined(None, 9, 16, "10.1.2.4", None, 5, complete=True)],
    ),
    (
        info(
            f"[HCCL_TRACE]HcclCommInitRootInfo success,take time [7]us, rankNum[16], rank[9],rootInfo identifier[{GROUP}], "
            "server[10.1.2.4%eth0], logicDevId[1]"
        ),
        [Joined(GROUP, 9, 16, "10.1.2.4", 1, None, None, "10.1.2.3", True)],
    ),
    (
        info(
            "hcclCommInitInfo:commId[hccl-7-0-16-hccl_world_group], rank[9], totalRanks[16], serverId[10.1.2.4%eth0], "
            f"deviceType[0],logicDevId[1], identifier[{GROUP}]"
        ),
        [
            Joined(GROUP, 9, 16, "10.1.2.4", 1, None, None, "10.1.2.3", True),
            GroupNamed(GROUP, "hccl-7-0-16-hccl_world_group"),
        ],
    ),
    (
        info("[LocalRank Key Info]userRank[9] hostIp[10.1.2.4] devicePhyId[5] server[10.1.2.4] deviceIp[0.0.0.0]"),
        [Joined(None, 9, None, "10.1.2.4", None, 5)],
    ),
    (
        info(f"[HCCL_TRACE]HcclGetRootInfo success, take time [9]us, identifier[{GROUP}]"),
        [RootCreated(GROUP)],
    ),
    (
        plog(
            f"[HCCL_TRACE]HcclCommInitRootInfo failed, return[0x000000000500000d], rankNum[16], rank[9], "
            f"rootInfo identifier[{GROUP}], server[10.1.2.4%eth0], logicDevId[-1]"
        ),
        [JoinFailed(GROUP, 9, 16, "10.1.2.4", 13)],
    ),
    (
        plog(
            "[InitCommRootInfo]Init failed, return[0x0000000005000004], rankNum[16], rank[0], rootInfo identifier[group_name_3], server[10.1.2.3%eth0]"
        ),
        [JoinFailed("group_name_3", 0, 16, "10.1.2.3", 4)],
    ),
    (
        "[ERROR] HCCL(77,python):2022-12-01-03:02:29.001.645 [hcom.cc:1][hccl-77-0-16-hccl_world_group][2]"
        "[HcomInitByFile]errNo[0x0000000005000007] rankTablePath[/t.json] identify[0] hcom init failed.\n",
        [Joined("hccl-77-0-16-hccl_world_group", 2)],
    ),
    (
        "[ERROR] HCCL(77,python):2022-12-01-03:02:29.001.645 [hcom.cc:1][hccl-77-0-16-hccl_world_group][2]"
        "[HcomInitByFile]errNo[0x0000000005000009] rankTablePath[/t.json] identify[0] hcom init failed.\n",
        [JoinFailed("hccl-77-0-16-hccl_world_group", 2, None, None, 9)],
    ),
    (
        "[PID: 77] 2026-10-09-08:38:04.978.003 Communication_Error_Ranktable_Detect(EI0015): Failed to collect cluster"
        ' information. List of unconnected ranks: "[1,7,]".\n',
        [NeverConnected((1, 7)), Fault("EI0015", "HCCL", "the rendezvous by root info failed", "Communication_", True)],
    ),
    (
        plog('TopoDetect ERROR occur !!! fault_type[1], fault_info["Failed to connect agent[1,3,15,]"]'),
        [NeverConnected((1, 3, 15))],
    ),
    (plog("Broadcast Rank Basic Infos failed，connectFailedAgentIdList[10,17,]"), [NeverConnected((10, 17))]),
    (plog("topo exchange agent get socket timeout! timeout[120]"), [RootUnreachable(None, None)]),
    (plog("connect server[10.1.2.3 : 60000] failed"), [RootUnreachable("10.1.2.3", 60000)]),
    (plog("[Recv][ClusterInfoMsg]receive msg length from fdhandle failed, ret[9]"), [RootSilent()]),
    (plog("[Recv][ClusterInfoMsg]receive msg length from fdhandle failed, ret[13]"), [PeerClosed(None)]),
    (
        plog(
            " socket type[2], listen on ip[10.1.2.4%eth0] and specific port[60000] fail. Please check the port status"
        ),
        [ListenFailed("host", "10.1.2.4%eth0", 60000)],
    ),
    (
        plog("socket type[0], listen on ip[192.168.7.5] and specific port[16666] fail."),
        [ListenFailed("card", "192.168.7.5", 16666)],
    ),
    (
        plog("[Wait][LinkEstablish]wait socket establish timeout, role[1] rank[9] timeout[120 s]"),
        [LinkTimedOut(9, "client", 120)],
    ),
    (plog("wait socket establish timeout, role[0] rank[9] timeout[600]"), [LinkTimedOut(9, "server", 600)]),
    (
        plog("errNo[0x000000000500000b] client : device[1] rank[9] get socket timeout, total[3] remain[1]"),
        [LinkTimedOut(9, "client", None)],
    ),
    (
        plog(
            "   |  192.168.7.6(10)   |  16666  |   192.168.7.5(9)   |  3234403008  |  client  | time out |   DISABLE  | LinkInfo"
        ),
        [LinkRow(9, "192.168.7.5", 10, "192.168.7.6", "client", "time out", "disable")],
    ),
    (
        plog("   |  192.168.7.6(10)   |   192.168.7.5(9)   |  server  | no connect |   "),
        [LinkRow(9, "192.168.7.5", 10, "192.168.7.6", "server", "no connect")],
    ),
    (
        plog(
            "   |  dest_ip(user_rank)  |   dest_port   |  src_ip(user_rank)   |   src_port   |   MyRole   |   Status   |"
        ),
        [],
    ),
    (
        plog(
            _CREATE.format("10.1.2.4/1", "remoteRank[0]", "remoteIpAddr[10.1.2.5/0]")
            + f"linkMode[1], tag[AllReduce_{GROUP}]"
        ),
        [LinkFailed(5, Card("10.1.2.4", 1), 6, Card("10.1.2.5", 0), f"AllReduce_{GROUP}")],
    ),
    (
        plog(_CREATE.format("", "dst_rank[0]", "remote_ip_addr[10.1.2.5]")),
        [LinkFailed(5, Card(), 6, Card("10.1.2.5"), None)],
    ),
    (
        plog("[Wait][P2PConnected]connected p2p timeout, timeout:130 s. local logicDevid:0, remote physic id:1."),
        [P2PTimedOut(0, 1, 130)],
    ),
    (
        plog(
            "This node (server 10.1.2.4, device ID 1) detects that srcRank (server fd00::4, device ID 1) fails to connect "
            "to dstRank (server 10.1.2.5, device ID 10). Continue"
        ),
        [Unreachable(Card("fd00::4", 1), Card("10.1.2.5", 10))],
    ),
    (plog("No abnormal periods were discovered"), [AllReachable()]),
    (
        "[INFO] HCCP(2,hccp_service.bin):2025-06-15-15:06:40.500.000 [s.c:1]tid:2,rs_init(1) : TLS SWITCH (1)\n",
        [Tls(True)],
    ),
    (
        plog("[PrintErrorInfo]local rank information: nicType[VNIC_TYPE], logicSuperPodId[a], phySuperPodId[1]. Note"),
        [SuperPod("a", "1", "VNIC_TYPE")],
    ),
    (plog("[Recv][RaSocket]errNo[0x000000000500000d] recv fail, data[0xff], size[2239]"), [PeerClosed(None)]),
    (
        info(
            f"Entry-HcclAllReduce: tag[AllReduce_{GROUP}], sendBuf[0x1], recvBuf[0x2], count[512], dataType[float32], op[sum]"
        ),
        [OperatorEntered("AllReduce", f"AllReduce_{GROUP}", GROUP, None, 512, "float32")],
    ),
    (
        info(
            "GenerateOpTag: graph[2] opType[HcomAllGather], nodeNameHash[1], group[hccl_world_group], generated op tag[HcomAllGather_1_0]"
        ),
        [OperatorEntered("HcomAllGather", "HcomAllGather_1_0", "hccl_world_group")],
    ),
    (
        plog(f"Task run failed, {_BASE}")
        + plog("Task run failed, para information is notify id:[0x1], remote rank:[4].")
        + plog(
            f"Task run failed, groupRank information is group:[{GROUP}], user define information[], rankSize[16], rankId[9]."
        )
        + plog(
            "Task run failed, opData information is timeStamp:[2025], deviceId[1], index[21], count[256], dataType[float32]."
        ),
        [OperatorTimedOut(9, 16, 4, f"AllReduce_{GROUP}", GROUP, 21, 256, "float32")],
    ),
    (
        plog("Task run failed, para information is notify id:[0x1], stage:[0], remote rank:[local]."),
        [OperatorTimedOut(None, None, "local", None, None)],
    ),
    (
        plog("Task run failed, para information is notify id:[0x1], remote rank:[4294967295]."),
        [OperatorTimedOut(None, None, None, None, None)],
    ),
    (
        plog(
            "[TaskException][AICPU]base information is streamId:2, type:NOTIFY WAIT, localRank:9, remoteRank:4, notifyId:7, sqHead:1"
        ),
        [OperatorTimedOut(9, None, 4, None, None)],
    ),
    (
        "EI0002: [PID: 77] 2025-06-15-15:06:40.500.000 The wait execution of the Notify register times out. Reason: The Notify "
        f"register has not received the Notify record from remote rank [4].base information: [streamID:[2], tag[AllReduce_{GROUP}], "
        f"AlgType(level 0-1-2):[ring].] group information: [group:[{GROUP}], user define information[], rankSize[16], rankId[9].]\n",
        [
            OperatorTimedOut(9, 16, 4, f"AllReduce_{GROUP}", GROUP),
            Fault("EI0002", "HCCL", "a rank timed out waiting for another in an operator", "EI0002: [PID: 77]", True),
        ],
    ),
    (
        plog(
            "The error from device(chipId:3, dieId:0), serial number is 1, hccl fftsplus task timeout occurred during task "
            "execution, stream_id:4, stuck notify num:3, timeout:1836.",
            module="RUNTIME",
            thread="78 Print:",
        ),
        [
            OperatorTimedOut(None, None, None, None, None, seconds=1836, physical=3),
            Fault(None, "RUNTIME", "a task did not finish in time", "Print:The error", True),
        ],
    ),
    (plog("CMD information count check fail. local[10], remote[20]"), [ArgumentMismatch("count", "10", "20")]),
    (
        "EI0005: 2025-06-15-15:06:40.500.000 The arguments for collective communication are inconsistent between "
        "ranks:parameter count, local end 16512, remote end 8320\n",
        [
            ArgumentMismatch("count", "16512", "8320"),
            Fault("EI0005", "HCCL", "the ranks have different parameters for one operator", "EI0005: 2025", False),
        ],
    ),
    (
        "[rank9]:[E324 13:00:25.428 a.ts:1] [Rank 9] Watchdog caught collective operation timeout: WorkHCCL(SeqNum=196, "
        "OpType=ALLREDUCE, Timeout(ms)=1800000) ran for 1800185 milliseconds before timing out.\n",
        [Watchdog(9, 196, "ALLREDUCE", None, 1800.0)],
    ),
    (
        info(
            "[HeartbeatAbnormal]local rank [10.1.2.4/1]: crimer rank [10.1.2.5/2] status[STUCK] by informer rank [10.1.2.6/3]"
        ),
        [Heartbeat(Card("10.1.2.5", 2), None, None, "stuck", False)],
    ),
    (info("[HCCL_TRACE]rank [4]: rank [5] status[LOST] by rank [6]"), [Heartbeat(Card(), 5, 6, "lost", False)]),
    (
        plog(
            "Cluster Exception Location[IP/ID]:[10.1.2.5/2], Arrival Time:[Thu Oct 23 17:25:58 2025], Discoverer:[10.1.2.6/3], "
            "ExceptionType:[Error cqe Occurred], Possible Reason:1. Network"
        ),
        [Heartbeat(Card("10.1.2.5", 2), None, None, "error cqe", True, 1761240358.0)],
    ),
    (
        plog(
            "Cluster Exception Location[IP/ID]:[10.1.2.5/2], Arrival Time:[Thu Oct  2 17:25:58 2025], ExceptionType:[Stuck Occurred], Possible"
        ),
        [Heartbeat(Card("10.1.2.5", 2), None, None, "stuck", True, 1759425958.0)],
    ),
    (
        plog("serverId[10.1.2.5], deviceId[2], Heartbeat Lost Occurred"),
        [Heartbeat(Card("10.1.2.5", 2), None, None, "lost", True)],
    ),
    (
        plog("server:10.1.2.5/2, server:10.1.2.6/3, Heartbeat Lost Occurred"),
        [Heartbeat(Card("10.1.2.5", 2), None, None, "lost", True)],
    ),
    (
        plog(
            "cqe error status[12], time:[2025-06-15 15:06:40.1],localInfo{server[10.1.2.4],deviceId[1],deviceIp[192.168.7.5]}, "
            "remoteIP{server[10.1.2.5],deviceId[2],deviceIp[192.168.7.6]}"
        ),
        [ErrorCqe(Card("10.1.2.4", 1, "192.168.7.5"), Card("10.1.2.5", 2, "192.168.7.6"), 12)],
    ),
    (plog("cqe err status[12], time:[2023], ip:[192.168.7.6]"), [ErrorCqe(Card(), Card(address="192.168.7.6"), 12)]),
    (
        "[PID: 77] 2025-06-15-15:06:40.500.000 Execution Error ROCE CQE(EI0013): An error CQE occurred during operator execution. "
        "Local information: server 10.1.2.4, device ID 1, device IP 192.168.7.5. Peer information: server 10.1.2.5, device ID 2, "
        "device IP 192.168.7.6.\n",
        [
            ErrorCqe(Card("10.1.2.4", 1, "192.168.7.5"), Card("10.1.2.5", 2, "192.168.7.6"), None),
            Fault("EI0013", "HCCL", "packets over RoCE were lost while the job ran", "Execution Error", True),
        ],
    ),
    (info("HCCL_CONNECT_TIMEOUT set by environment to [130]s"), [Setting("HCCL_CONNECT_TIMEOUT", "130")]),
    (
        info("[HCCL_ENV] HCCL_INTRA_PCIE_ENABLE set by default to [1], HCCL_INTRA_ROCE_ENABLE set by default to [0]"),
        [Setting("HCCL_INTRA_PCIE_ENABLE", "1"), Setting("HCCL_INTRA_ROCE_ENABLE", "0")],
    ),
    (
        info("environmental variable HCCL_CONNECT_TIMEOUT is set, timeOut[600]"),
        [Setting("HCCL_CONNECT_TIMEOUT", "600")],
    ),
    (
        info("[HCCL_ENV] HCCL_SOCKET_FAMILY is not set and is used by default [AF_INET]"),
        [Setting("HCCL_SOCKET_FAMILY", "AF_INET")],
    ),
    (info("[HCCL_ENV] HCCL_SOCKET_IFNAME set by default to [EmptyString]"), [Setting("HCCL_SOCKET_IFNAME", "")]),
    (info('Env config "HCCL_IF_IP" is not set. Default value is used.'), []),
    ("error: rank 3 on device 3 of n1 failed with exit code 137 (SIGKILL)\n", [Exited(3, None, 9)]),
    ("error: rank 3 on device 3 of n1 failed with exit code 1\n", [Exited(3, 1, None)]),
    (
        "error: rank 3 on device 3 of n1 took no step for 60 s after step 5\n",
        [Fault(None, "LAUNCHER", "a rank took no step for too long", "error: rank", False)],
    ),
    (
        "error: ranks 0, 1 of n1 took no step for 60 s after step 5\n",
        [Fault(None, "LAUNCHER", "a rank took no step for too long", "error: ranks", False)],
    ),
    ("srun: error: n1: task 3: Killed\n", [Exited(3, None, 9)]),
    ("srun: error: n1: task 3: Exited with exit code 2\n", [Exited(3, 2, None)]),
    (
        "slurmstepd: error: Detected 1 oom_kill event in StepId=1.0\n",
        [
            Fault(
                None,
                "PROGRAM",
                "the kernel killed a process, because the memory of the host or of its container was used up",
                "slurmstepd",
                False,
            )
        ],
    ),
    ("The node: 3 is timed out. It may exit with exception, please check this node's log.\n", [Exited(3, None, None)]),
    (
        plog("[InitGroupStage][RanktableCheck]errNo[0x0000000005010001] super_device_id[] is invalid"),
        [Fault("EI0014", "HCCL", "a value in the rank table is not what HCCL expects", "[InitGroupStage]", False)],
    ),
    (
        plog("[InitGroupStage][RanktableCheck]rank[0] device ip family[2] is not same as others[10]."),
        [Fault("EI0001", "HCCL", "an environment variable is not valid", "[InitGroupStage]", False)],
    ),
    (
        plog(
            "[check][ip]fail, ret(129) the IP address(10.1.2.9) in the ranktable is inconsistent with the IP address(10.1.2.8)",
            module="HCCP",
        ),
        [Fault("EI0014", "HCCP", "device_ip of the table is not the address of the card", "[check][ip]fail", False)],
    ),
    (
        plog("the connection failure between this device and target device may be due to the following reasons:"),
        [Fault("EI0006", "HCCL", "a rank timed out waiting for the connection of another", "the connection", True)],
    ),
    (
        plog("topo exchange server get socket timeout! timeout[120 s]"),
        [Fault("EI0015", "HCCL", "the root timed out waiting for other ranks", "topo", True)],
    ),
    (
        "(train pid=77) RuntimeError: create:a.ts:1 HCCL function error: hcclCommInitRootInfo(n, &(c->h)), error code is 15\n",
        [Fault(None, "PROGRAM", "a call to HCCL failed", "RuntimeError: create", True, True)],
    ),
    (
        "[ERROR] 2025-06-15-15:06:40 (PID:77, Device:1, RankID:-1) ERR02200 DIST call hccl api failed.\n",
        [Fault(None, "PROGRAM", "a call to HCCL failed", "ERR02200", True, True)],
    ),
    (
        "(Worker pid=77) ERROR 04-30 03:58:27 [executor.py:9]     The error from device(chipId:4, dieId:0), serial number"
        " is 1, there is an exception of fftsplus aicore error, core id is 4\n",
        [Fault(None, "PROGRAM", "a kernel of an operator failed on the card", "The error from device(chipId:4", False)],
    ),
    (
        "(EngineCore pid=77) ERROR 10-09 01:31:16 [core.py:7]     The error from device(0), serial number is 1. there is"
        " a sdma error, sdma channel is 0\n",
        [Fault("EI0012", "PROGRAM", "a copy between cards (SDMA) failed", "The error from device(0)", False)],
    ),
    (
        "RuntimeError: NPU out of memory. Tried to allocate 22.00 MiB (NPU 0; 60.97 GiB total capacity)\n",
        [Fault(None, "PROGRAM", "the memory of the card is used up", "RuntimeError: NPU out", False)],
    ),
    (
        "Aicpu kernel execute failed, device_id=0, soName=libtf_kernels.so, kernelName=MatMul, errorCode=0x2a.\n",
        [Fault(None, "PROGRAM", "a kernel of an operator failed on the card", "Aicpu", False)],
    ),
    (
        "E39999 tsd client wait response fail, device response code[1]. load aicpu ops package failed, device[0]\n",
        [
            Fault(
                None,
                "PROGRAM",
                "the AICPU package of CANN could not be checked or unpacked for the card",
                "E39999 tsd",
                False,
            )
        ],
    ),
    (
        "[TSDaemon] checksum aicpu package failed, ret=103, [tsd_common.cpp:2242:SaveProcessConfig]17580\n",
        [
            Fault(
                None,
                "PROGRAM",
                "the AICPU package of CANN could not be checked or unpacked for the card",
                "[TSDaemon]",
                False,
            )
        ],
    ),
    (
        plog("[Get][SingleDeviceIp]'device_ip' is not set correctly,must be set when multi Server"),
        [
            Fault(
                "EI0014", "HCCL", "device_ip is missing where the cards must reach each other over RoCE", "[Get]", False
            )
        ],
    ),
    (
        plog("[hrtRaRegGlobalMr]errNo[0x0000000005000013] ra reg global mr fail. return[128102], params: size[1]"),
        [Fault(None, "HCCL", "memory could not be registered with the network port", "[hrtRaReg", False)],
    ),
    (
        plog("ibv_cmd_create_cq failed, ret 12", module="ROCE"),
        [Fault(None, "ROCE", "the system memory of the card (not HBM) is used up", "ibv_cmd", False)],
    ),
    (
        "open device 0 failed runtime result = 507033.[FUNC: ReportCallError][FILE:log_inner.cpp][LINE:161]\n",
        [Fault(None, "PROGRAM", "the card could not be opened or started", "open device", False)],
    ),
    (
        "[E socket.cpp:472] [c10d] The server socket has failed to listen on any local network address.\n",
        [Fault(None, "PROGRAM", "torch's store could not listen on its port", "[E socket", False)],
    ),
    ("[W socket.cpp:436] [c10d] The server socket has failed to bind to [::]:29500 (errno: 98 - in use).\n", []),
    (plog("[Get][X]'host_ip' is not set correctly"), []),
    (
        "EC0010: Failed to import Python module [ModuleNotFoundError: No module named 'tbe'.].\n",
        [Fault("EC0010", "HCCL", "a Python module of the toolkit cannot be imported", "EC0010", False)],
    ),
    (
        "[rank1]: EE9999: [PID: 77] 2025-04-27-03:11:08.269.791 get error: phyid:0 realDeviceId:0 is err:0x7010003"
        "[FUNC:GetDeviceIndexByPhyId][FILE:api_error.cc][LINE:1918]\n",
        [
            Fault(
                "EE9999",
                "HCCL",
                "the runtime does not find the physical card among those that the process sees",
                "EE9999: [PID: 77]",
                False,
            )
        ],
    ),
    (
        "E39999: Inner Error!\n",
        [Fault("E39999", "HCCL", "an error inside the card's process manager", "E39999: Inner", True, True)],
    ),
    (
        "[CRITICAL] DEVICE(77,ffff890145d0,python):2022-12-01-03:02:29.002.576 [a/b.cc:112] Initialize] Ascend collective"
        " communication initialization failed.Ascend Error Message:EJ0001: Failed to initialize the HCCP process.\n",
        [
            Fault(
                "EJ0001",
                "HCCL",
                "another process still uses the card, or ended less than 10 s ago",
                "[CRITICAL] DEVICE",
                False,
            )
        ],
    ),
    (
        "terminate called after throwing an instance of 'gloo::EnforceNotMet'\n",
        [Fault(None, "TORCH", MISMATCH, "terminate called after throwing an instance of 'gloo::EnforceNotMet'", True)],
    ),
    (
        "  what():  [enforce fail at gloo/transport/tcp/pair.cc:456] op.preamble.length <= op.nbytes. 256 vs 200. "
        "Received data size doesn't match expected size.\n",
        [Oversized(256, 200)],
    ),
    (
        plog("PrintErrorInfo:Aicore kernel execute failed, device_id=0", module="RUNTIME", thread="78 "),
        [Fault(None, "RUNTIME", "a kernel of an operator failed on the card", "PrintErrorInfo", False)],
    ),
    (
        plog("Do:something nobody knows", module="GE", thread="78 "),
        [Fault(None, "GE", "an error of GE", "Do:", is_unknown=True)],
    ),
    (plog('[X]"Traceback (most recent call last):', module="TUNE", thread="78 "), []),
    (
        plog("LoadLib: error = /x/libops.so: undefined symbol: _ZN2ge1xE", module="GE", thread="78 "),
        [Fault(None, "GE", "a library lacks a function that another one calls", "LoadLib")],
    ),
    (
        plog("InitTCPServer] Failed to init the tcp server", module="DISTRIBUTED", thread="78 "),
        [
            Fault(
                None,
                "DISTRIBUTED",
                "MindSpore's scheduler could not listen",
                "InitTCPServer",
            )
        ],
    ),
    (
        plog("SetDevice:Set visible device failed, invalid device=0", module="RUNTIME", thread="78 "),
        [
            Fault(
                None,
                "RUNTIME",
                "the mask of visible cards leaves this process without the card that it uses",
                "SetDevice",
            )
        ],
    ),
    (
        plog("SyncStream] Call aclrtSynchronizeStreamWithTimeout error.", module="DEVICE", thread="78 "),
        [Fault(None, "DEVICE", "a task did not finish", "SyncStream", True, True)],
    ),
    (
        "RuntimeError: ACL stream synchronize failed, error code:507035\n",
        [Fault(None, "PROGRAM", "a vector kernel failed on the card", "RuntimeError: ACL")],
    ),
    (
        "NPU function error: c10_npu::acl::AclrtSynchronizeStream(stream), error code is 507015\n",
        [Fault(None, "PROGRAM", "a kernel failed on the card", "NPU function", is_frame=True)],
    ),
    (
        "HCCL_BUFFSIZE_EP is too SMALL, maxBs = 512, NEEDED_BUFFSIZE = 600MB, HCCL_BUFFSIZE=256MB.\n",
        [
            Fault(
                None,
                "PROGRAM",
                "the buffer between cards (HCCL_BUFFSIZE) is too small for an operator of MoE (dispatch, combine)",
                "HCCL_BUFFSIZE_EP",
            )
        ],
    ),
    (
        "[W socket.cpp:464] [c10d] The client socket has timed out after 60000ms while trying to connect to (n1, 2).\n",
        [Fault(None, "PROGRAM", "torch's store waited for other processes", "[W socket", True)],
    ),
    (
        "torch.distributed.DistStoreError: Timed out after 601 seconds waiting for clients. 1/8 clients joined.\n",
        [Fault(None, "PROGRAM", "torch's store waited for other processes", "torch.distributed.DistStore", True)],
    ),
    (
        "[ERROR] ME(77:281473590168608,MainProcess):2025-03-10-09:40:38.720.000 [m/_api.py:331] Worker process 78 exit"
        " with exception.\n",
        [Fault(None, "ME", "the launcher saw a process end", "[m/_api.py:331]", True)],
    ),
    (
        "[ERROR] ME(77:281473590168608,MainProcess):2025-03-10-09:40:38.722.000 [m/_api.py:431] Time out nodes are"
        " ['3', '7']\n",
        [
            Exited(3, None, None),
            Exited(7, None, None),
            Fault(None, "ME", "the launcher saw a process end", "[m/_api.py:431]", True),
        ],
    ),
    (
        "ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: -9) local_rank: 3 (pid: 78) of binary:"
        " /usr/bin/python3\n",
        [Fault(None, "LAUNCHER", "local rank 3 was killed by SIGKILL", "ERROR:torch")],
    ),
    ("failed (exitcode: -15) local_rank: 3 (pid: 78) of binary: /usr/bin/python3\n", []),
    ("failed (exitcode: 1) local_rank: 3 (pid: 78) of binary: /usr/bin/python3\n", []),
    (plog("Inconsistent HCCL Versions. local_version 7.1, remote_version 8.2."), [VersionMismatch("7.1", "8.2")]),
    (
        plog("The HCCL versions are inconsistent. The local version is 7.1, while the remote version is 8.2."),
        [VersionMismatch("7.1", "8.2")],
    ),
    (
        plog("[Heartbeat]check opinfo inconsistent. identifier[g] index[4], local(AllReduce); remote(Broadcast)"),
        [ArgumentMismatch("operator 4", "AllReduce", "Broadcast")],
    ),
    (plog("[x]call trace: hcclRet -> 9"), []),
    (plog("dump_err_cqe(7) : CQ(0x10) CQE(0x5)", module="ROCE"), []),
    (info("attr init success, timeout=0ms."), []),
)


@pytest.mark.parametrize(
    ("text", "expected"), CASES, ids=lambda value: value.strip()[-60:] if isinstance(value, str) else ""
)
def test_a_line_states_its_facts(text: str, expected: list[Fact]) -> None:
    found = [known(fact) for fact in facts_of(text) if not is_of_prefix(fact)]
    assert sorted(found, key=repr) == sorted(expected, key=repr)


def known(fact: Fact) -> Fact:
    """The fact with only the start of the text of a fault, and without what its row adds, like in the table above."""
    if not isinstance(fact, Fault):
        return fact
    faults = [one for _, expected in CASES for one in expected if isinstance(one, Fault)]
    text = max((one.text for one in faults if fact.text.startswith(one.text)), key=len, default=fact.text)
    kind = max((one.kind for one in faults if f"{fact.kind}: ".startswith(f"{one.kind}: ")), key=len, default=fact.kind)
    return fact._replace(text=text, kind=kind, role=None, fix="")


def is_of_prefix(fact: Fact) -> bool:
    return isinstance(fact, Located) or fact == Joined(None, 9)


def test_a_fault_has_role_fix_and_values_of_the_row_of_its_message() -> None:
    (fault,) = facts_of("HCCL_BUFFSIZE_EP is too SMALL, NEEDED_BUFFSIZE = 600MB, HCCL_BUFFSIZE=256MB.\n")
    assert isinstance(fault, Fault)
    assert (fault.role, "needs 600 MB and has 256 MB" in fault.kind) == ("cause", True)
    assert fault.fix.startswith("raise HCCL_BUFFSIZE")


def test_a_root_error_of_hccl_that_states_nothing_else_is_a_fault_and_an_echo_of_one_is_none() -> None:
    cause = plog("[Parse][ClusterInfo]ranktable config devId[1], but local devId[3]")
    (fault,) = facts_of(cause + plog("[Init]call trace: hcclRet -> 7"))
    assert isinstance(fault, Fault)
    assert (fault.code, fault.role, fault.is_symptom) == ("EI0014", "cause", False)
    assert "the table has card 1 for this rank, but its process runs on card 3" in fault.kind
    assert fault.fix.startswith("start the rank on the card of the table")


def test_the_heading_of_a_message_goes_if_a_line_below_it_tells_more() -> None:
    heading = "[PID: 77] 2025-06-15-15:06:40.500.000 Invalid_Argument(EL0003): The argument is invalid.\n"
    kernel = (
        "        The error from device(chipId:4, dieId:0), there is an exception of fftsplus aicore error, core id 1\n"
    )
    (alone,) = facts_of(heading)
    (fault,) = facts_of(heading + kernel)
    assert isinstance(alone, Fault)
    assert isinstance(fault, Fault)
    assert (alone.code, alone.is_frame, alone.is_symptom) == ("EL0003", True, False)
    assert (fault.role, fault.kind) == (
        "cause",
        "a kernel of an operator failed on the card: fftsplus aicore error, on the chip 4",
    )


def test_codes_in_terminal_output() -> None:
    for text in ("EJ0001: [PID: 3] 2025-06-15-15:06:40.500.000 Failed", "Config_Error(EJ0001)", "EJ0001: Failed"):
        (fact,) = facts_of(text + "\n")
        assert isinstance(fact, Fault)
        assert (fact.code, fact.is_symptom) == ("EJ0001", False)


def test_a_code_inside_a_plog_record_is_not_a_message() -> None:
    assert facts_of(plog("report error module_type=5, module_name=EZ9999", module="RUNTIME", thread="78 ")) == []


def test_recognises_differing_versions() -> None:
    line = plog("[InitChannelStage][VersionConflict]CMD information version check fail. local[8.0], remote[8.1]")
    assert facts_of(line) == [VersionMismatch("8.0", "8.1")]


@pytest.mark.parametrize("value", ["9" * 5000, "-1", "1000000000000", "4294967295", "", "٣", "0x10"])
def test_ranks_that_are_not_valid_are_ignored(value: str) -> None:
    for fact in facts_of(
        info(f"[HCCL_TRACE]SetupAgent rankNum[8], rank[{value}], rootInfo identifier[x], server[a]")
        + plog(f"wait socket establish timeout, role[1] rank[{value}] timeout[120 s]")
        + plog(f"Failed to connect agent[{value},]")
        + plog(f"Task run failed, para information is notify id:[0x1], remote rank:[{value}].")
        + f"error: rank {value} on device 3 of n1 failed with exit code 1\n"
    ):
        assert not isinstance(fact, (Joined, NeverConnected, Exited))
        assert getattr(fact, "rank", None) is None
        assert getattr(fact, "awaited", None) is None


@given(st.sampled_from([text for text, _ in CASES]), st.data())
def test_a_truncated_line_states_no_more_than_the_whole_line(text: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(text) - 1))
    whole = facts_of(text)
    for fact in facts_of(text[:at]):
        assert any(type(fact) is type(one) and is_part(fact, one) for one in whole), (fact, text[:at])


def is_part(fact: Fact, whole: Fact) -> bool:
    """Whether one fact is contained in the other; the text of a fault may be shorter, and fit another row."""
    if isinstance(fact, Fault) and isinstance(whole, Fault):
        fact, whole = (fault._replace(role=None, fix="") for fault in (fact, whole))
    return all(
        one is None or one is False or one == other or (isinstance(fact, Fault) and str(other).startswith(str(one)))
        for one, other in zip(fact, whole, strict=True)
    )
