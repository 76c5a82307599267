"""Cards that are busy, lost, faulty or not visible, as the driver and its tools print it."""

from __future__ import annotations

from hccl_kit.diagnosis.errors.row import KnownError

HOLDS = "npu-smi info: processes on the cards; ps -ef on the host, also outside the container"
END_OLD = "end the processes of the earlier job, wait 30 s, start again; if the error persists, see the device log"
_ONE_CARD = (
    "several ranks of this job use one card: `(PID:..., Device:0, RankID:2)` has another Device than the rank should"
    " have: LOCAL_RANK, set_device, or the visible devices that Ray sets"
)

ROWS: tuple[KnownError, ...] = (
    KnownError(
        "another process still uses the card, or ended less than 10 s ago; `npu-smi info` lists them",
        codes=("EJ0001",),
        causes=(
            "a process of an earlier job still runs, also in another container",
            "it ended just now: the card-side service needs 10 s, better 30 s",
            _ONE_CARD,
            "the card-side service (HCCP) has failed: see the device log",
        ),
        tells_apart=HOLDS,
        fix=END_OLD,
        stage="creation of the communicator, on the card",
    ),
    KnownError(
        "the card-side service of HCCL (HCCP) could not be started: a process of an earlier job still holds the card",
        codes=("EJ0001",),
        patterns=(r"Failed to initialize the HCCP process", r"Maybe the last training process is running"),
        example="EJ0001: [PID: 77] 2025-06-15-15:06:40.500.000 Failed to initialize the HCCP process.",
        causes=(
            "a process of an earlier job still runs, also in another container",
            "it ended just now: the card-side service needs 10 s, better 30 s",
            _ONE_CARD,
        ),
        tells_apart=HOLDS,
        fix=END_OLD,
        stage="creation of the communicator, on the card",
    ),
    KnownError(
        "the card's process manager refused to start a helper process, as under EJ0001 and E39007",
        patterns=(
            r"tsd client wait response fail(?:, ?device response code ?\[(?P<response>[0-9]{1,6})\])?",
            r"unknown device error\.?\[FUNC:WaitRsp\]",
        ),
        example="tsd client wait response fail, device response code[1]",
        says=("the card answered {response}",),
        causes=(
            "a process of an earlier job still holds the card",
            "the device log of this time names another reason: memory, a broken package",
        ),
        tells_apart=HOLDS + "; ~/ascend/log/debug/device-N",
        fix=END_OLD,
        stage="creation of the communicator, on the card",
    ),
    KnownError(
        "the card lost its heartbeat: it no longer responds",
        codes=("507010",),
        patterns=(
            r"The task scheduler loses the heartbeat",
            r"\bDevice ?\[(?P<card>[0-9]{1,6})\] lost heartbeat",
            r"reason ?= ?\[?lost heartbeat",
        ),
        example="Device[3] lost heartbeat.",
        says=("the card is {card}",),
        causes=("the card was reset, or failed (power, heat, memory)", "its firmware hangs"),
        tells_apart="npu-smi info; npu-smi info -t health -i N; dmesg",
        fix="reset the card (npu-smi set -t reset -i N -c 0) with no job on it; replace it if the error recurs",
        of_card=True,
    ),
    KnownError(
        "the connection to the card was lost",
        patterns=(r"\bhdc (?:send msg fail|disconnect)",),
        example="[ERROR] DRV(77,python3):2025-06-15-15:06:40.500.000 [hdc.c:12] hdc send msg fail, ret 25",
        causes=("the card was reset, or failed", "the process on the card ended: see the device log"),
        tells_apart="npu-smi info; dmesg; ~/ascend/log/debug/device-N",
        fix="reset the card (npu-smi set -t reset -i N -c 0) with no job on it; replace it if the error recurs",
        needs_context=True,
        of_card=True,
    ),
    KnownError(
        "the memory of the card has errors that cannot be corrected (HBM ECC)",
        patterns=(
            r"(?i:\bhbm\b[^\n]{0,60}(?:ecc|uncorrect|multi[- ]?bit|double[- ]?bit)[^\n]{0,40}error)",
            r"(?i:\becc\b[^\n]{0,40}(?:uncorrect|multi[- ]?bit|double[- ]?bit)[^\n]{0,40}error)",
            r"(?i:(?:uncorrect|multi[- ]?bit|double[- ]?bit)\w{0,6}[^\n]{0,20}\becc\b)",
            r"HBM_MULTI_BIT_ECC_ERROR",
            r"\bhbm\b[^\n]{0,40}error",
            r"\bRAS\b[^\n]{0,40}error",
        ),
        example="[ERROR] DRV(77,python3):2025-06-15-15:06:40.500.000 [ras.c:12] HBM multi bit ecc error, devid 3",
        causes=("a fault of the card's memory",),
        tells_apart="npu-smi info -t ecc -i N: double bit errors, isolated pages; npu-smi info -t health -i N",
        fix="take the card out of the job and reset it; replace it if the error recurs",
        needs_context=True,
        of_card=True,
    ),
    KnownError(
        "the card is absent or busy",
        patterns=(
            r"drvDeviceOpen\b",
            r"[Dd]evice ?(?:id ?)?\[?[0-9]{0,3}\]? (?:is )?(?:absent|not exist|offline|lost)\b",
        ),
        example="[ERROR] DRV(77,python3):2025-06-15-15:06:40.500.000 [dev.c:12] drvDeviceOpen of 3 failed",
        causes=("the card was lost: reset, power or heat", "another process holds it", "the container lacks it"),
        tells_apart="npu-smi info; ls /dev/davinci*; dmesg",
        fix="if npu-smi lacks the card, reset it or the host; else end the process that holds it",
        needs_context=True,
    ),
    KnownError(
        "the driver did not open a card for this process",
        patterns=(
            r"Failed to open device, ?retCode=(?P<error>0x[0-9a-fA-F]{1,10}), ?deviceId=(?P<card>[0-9]{1,6})",
            r"halDeviceOpen failed\. ?device_id=(?P<card>[0-9]{1,6}), ?drvRetCode=(?P<error>[0-9]{1,6})",
        ),
        example="Failed to open device, retCode=0x7020014, deviceId=0.",
        in_output=True,
        says=("the card is {card}, the error {error}",),
        causes=(
            "another container holds the card, or this user may not open /dev/davinciN",
            "the process takes another card than intended: ASCEND_RT_VISIBLE_DEVICES was set after"
            " torch_npu was loaded",
            "the card does not exist in this container",
        ),
        tells_apart="ls -l /dev/davinci*; npu-smi info on the host; echo $ASCEND_RT_VISIBLE_DEVICES before the start",
        fix="end the other user of the card, or set ASCEND_RT_VISIBLE_DEVICES in the shell, before Python starts",
    ),
    KnownError(
        "the card could not be opened or started",
        codes=("507033",),
        vague=True,
        in_output=True,
        patterns=(
            r"\[Error\]: ?Failed to start the device",
            r"TsdOpen failed\. ?devId=(?P<card>[0-9]{1,4}), ?tdt error=(?P<error>[0-9]{1,6})",
            r"open device (?P<card>[0-9]{1,4}) failed",
            r"Start aicpu executor failed",
            r"\[OpenProcess\][^\n]{0,80}\bfail",
        ),
        example="open device 2 failed, npu",
        says=("the card is {card}, the error of its process manager {error}", "the card is {card}"),
        causes=(
            "another process, also in another container, holds the card",
            "driver, firmware and CANN are not compatible, or the package of operators is broken (E30006)",
            "the card is in reset or failed",
        ),
        tells_apart="npu-smi info; cat /usr/local/Ascend/driver/version.info; dmesg",
        fix="end the other process; install compatible releases; if the error persists, reset the card",
    ),
    KnownError(
        "the card is used by another container, and the driver gives it to one at a time",
        patterns=(
            r"because the device is used\.? ?ret is (?P<result>-[0-9]{1,6})",
            r"get device type version failed ?, ?ret:(?P<result>87)\b",
            r"get platform info failed, drvErr=(?P<result>87)\b",
        ),
        in_output=True,
        example="dcmi model initialized failed, because the device is used. ret is -8020",
        says=("the result is {result}",),
        causes=(
            "another container was started with the same card",
            "a process of the host uses the card",
        ),
        tells_apart="on the host: npu-smi info; docker ps --format '{{.Names}}'; docker inspect NAME | grep davinci",
        fix="stop the other container, or start this one with other cards; with npu-smi set -t"
        " device-share -i N -d 1 on"
        " the host, containers may share a card",
    ),
    KnownError(
        "the tools of the card do not work in this container or for this user",
        patterns=(r"dcmi module initialize failed\.? ?ret is (?P<result>-[0-9]{1,6})",),
        example="dcmi module initialize failed. ret is -8005",
        says=("the result is {result}",),
        causes=(
            "another container holds the card exclusively (-8005)",
            "the container lacks /dev/davinci_manager, /dev/hisi_hdc or the driver's folder",
            "the container dropped capabilities, or /dev/davinciN belongs to another user (uid) than"
            " that of the process",
        ),
        tells_apart="npu-smi info on the host; in the container: ls -ln /dev/davinci*; id; grep Cap /proc/self/status",
        fix="end the other container, or start this one as `hccl-kit container TABLE` prints; in Kubernetes give it the"
        " user or group of the devices, or do not drop all capabilities",
    ),
    KnownError(
        "the driver's library does not work in this container or for this user",
        patterns=(r"DrvMngGetConsoleLogLevel failed",),
        example="DrvMngGetConsoleLogLevel failed. (g_conLogLevel=3)",
        vague=True,
        causes=(
            "another container holds the card exclusively",
            "the container lacks /dev/davinci_manager, /dev/hisi_hdc or the driver's folder, or lacks the permissions",
        ),
        tells_apart="npu-smi info on the host; ls /dev/davinci* in the container",
        fix="end the other container, or start this one as `hccl-kit container TABLE` prints",
    ),
    KnownError(
        "hccn_tool is not in this container, so that addresses and TLS of the cards cannot be read",
        patterns=(r"hccn_tool: (?:command )?not found", r"Failed to call hccn_tool"),
        example="bash: hccn_tool: command not found",
        in_output=True,
        causes=("the folder of the driver's tools is not mounted or not in PATH",),
        tells_apart="ls /usr/local/Ascend/driver/tools/hccn_tool",
        fix="mount it and /etc/hccn.conf, or run the command on the host",
    ),
)
