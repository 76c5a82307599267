"""Cards that are busy, lost, faulty or not visible, as the driver and its tools print it."""

from __future__ import annotations

from hccl_kit.diagnosis.errors.row import KnownError, known

HOLDS = "npu-smi info: processes on the cards; ps -ef on the host, also outside the container"
END_OLD = "end the processes of the earlier job, wait 30 s, start again; if the error persists, see the device log"
_ONE_CARD = (
    "several ranks of this job use one card: `(PID:..., Device:0, RankID:2)` has another Device than the rank should"
    " have: LOCAL_RANK, set_device, or the visible devices that Ray sets"
)

ROWS: tuple[KnownError, ...] = (
    known("""cause EJ0001
another process still uses the card, or ended less than 10 s ago; `npu-smi info` lists them
stage: creation of the communicator, on the card
""")._replace(
        causes=(
            "a process of an earlier job still runs, also in another container",
            "it ended just now: the card-side service needs 10 s, better 30 s",
            _ONE_CARD,
            "the card-side service (HCCP) has failed: see the device log",
        ),
        tells_apart=HOLDS,
        fix=END_OLD,
    ),
    known("""cause EJ0001
the card-side service of HCCL (HCCP) could not be started: a process of an earlier job still holds the card
line: Failed to initialize the HCCP process
line: Maybe the last training process is running
example: EJ0001: [PID: 77] 2025-06-15-15:06:40.500.000 Failed to initialize the HCCP process.
stage: creation of the communicator, on the card
""")._replace(
        causes=(
            "a process of an earlier job still runs, also in another container",
            "it ended just now: the card-side service needs 10 s, better 30 s",
            _ONE_CARD,
        ),
        tells_apart=HOLDS,
        fix=END_OLD,
    ),
    known(r"""cause
the card's process manager refused to start a helper process, as under EJ0001 and E39007
line: tsd client wait response fail(?:, ?device response code ?\[(?P<response>[0-9]{1,6})\])?
line: unknown device error\.?\[FUNC:WaitRsp\]
example: tsd client wait response fail, device response code[1]
says: the card answered {response}
cause: a process of an earlier job still holds the card
cause: the device log of this time names another reason: memory, a broken package
stage: creation of the communicator, on the card
""")._replace(tells_apart=HOLDS + "; ~/ascend/log/debug/device-N", fix=END_OLD),
    known(r"""cause 507010 of_card
the card lost its heartbeat: it no longer responds
line: The task scheduler loses the heartbeat
line: \bDevice ?\[(?P<card>[0-9]{1,6})\] lost heartbeat
line: reason ?= ?\[?lost heartbeat
example: Device[3] lost heartbeat.
says: the card is {card}
cause: the card was reset, or failed (power, heat, memory)
cause: its firmware hangs
apart: npu-smi info; npu-smi info -t health -i N; dmesg
fix: reset the card (npu-smi set -t reset -i N -c 0) with no job on it; replace it if the error recurs
"""),
    known(r"""cause needs_context of_card
the connection to the card was lost
line: \bhdc (?:send msg fail|disconnect)
example: [ERROR] DRV(77,python3):2025-06-15-15:06:40.500.000 [hdc.c:12] hdc send msg fail, ret 25
cause: the card was reset, or failed
cause: the process on the card ended: see the device log
apart: npu-smi info; dmesg; ~/ascend/log/debug/device-N
fix: reset the card (npu-smi set -t reset -i N -c 0) with no job on it; replace it if the error recurs
"""),
    known(r"""cause needs_context of_card
the memory of the card has errors that cannot be corrected (HBM ECC)
line: (?i:\bhbm\b[^\n]{0,60}(?:ecc|uncorrect|multi[- ]?bit|double[- ]?bit)[^\n]{0,40}error)
line: (?i:\becc\b[^\n]{0,40}(?:uncorrect|multi[- ]?bit|double[- ]?bit)[^\n]{0,40}error)
line: (?i:(?:uncorrect|multi[- ]?bit|double[- ]?bit)\w{0,6}[^\n]{0,20}\becc\b)
line: HBM_MULTI_BIT_ECC_ERROR
line: \bhbm\b[^\n]{0,40}error
line: \bRAS\b[^\n]{0,40}error
example: [ERROR] DRV(77,python3):2025-06-15-15:06:40.500.000 [ras.c:12] HBM multi bit ecc error, devid 3
cause: a fault of the card's memory
apart: npu-smi info -t ecc -i N: double bit errors, isolated pages; npu-smi info -t health -i N
fix: take the card out of the job and reset it; replace it if the error recurs
"""),
    known(r"""cause needs_context
the card is absent or busy
line: drvDeviceOpen\b
line: [Dd]evice ?(?:id ?)?\[?[0-9]{0,3}\]? (?:is )?(?:absent|not exist|offline|lost)\b
example: [ERROR] DRV(77,python3):2025-06-15-15:06:40.500.000 [dev.c:12] drvDeviceOpen of 3 failed
cause: the card was lost: reset, power or heat
cause: another process holds it
cause: the container lacks it
apart: npu-smi info; ls /dev/davinci*; dmesg
fix: if npu-smi lacks the card, reset it or the host; else end the process that holds it
"""),
    known(r"""cause in_output
the driver did not open a card for this process
line: Failed to open device, ?retCode=(?P<error>0x[0-9a-fA-F]{1,10}), ?deviceId=(?P<card>[0-9]{1,6})
line: halDeviceOpen failed\. ?device_id=(?P<card>[0-9]{1,6}), ?drvRetCode=(?P<error>[0-9]{1,6})
example: Failed to open device, retCode=0x7020014, deviceId=0.
says: the card is {card}, the error {error}
cause: another container holds the card, or this user may not open /dev/davinciN
cause: the process takes another card than intended: ASCEND_RT_VISIBLE_DEVICES was set after torch_npu was loaded
cause: the card does not exist in this container
apart: ls -l /dev/davinci*; npu-smi info on the host; echo $ASCEND_RT_VISIBLE_DEVICES before the start
fix: end the other user of the card, or set ASCEND_RT_VISIBLE_DEVICES in the shell, before Python starts
"""),
    known(r"""cause 507033 vague in_output
the card could not be opened or started
line: \[Error\]: ?Failed to start the device
line: TsdOpen failed\. ?devId=(?P<card>[0-9]{1,4}), ?tdt error=(?P<error>[0-9]{1,6})
line: open device (?P<card>[0-9]{1,4}) failed
line: Start aicpu executor failed
line: \[OpenProcess\][^\n]{0,80}\bfail
example: open device 2 failed, npu
says: the card is {card}, the error of its process manager {error}
says: the card is {card}
cause: another process, also in another container, holds the card
cause: driver, firmware and CANN are not compatible, or the package of operators is broken (E30006)
cause: the card is in reset or failed
apart: npu-smi info; cat /usr/local/Ascend/driver/version.info; dmesg
fix: end the other process; install compatible releases; if the error persists, reset the card
"""),
    known(r"""cause in_output
the card is used by another container, and the driver gives it to one at a time
line: because the device is used\.? ?ret is (?P<result>-[0-9]{1,6})
line: get device type version failed ?, ?ret:(?P<result>87)\b
line: get platform info failed, drvErr=(?P<result>87)\b
example: dcmi model initialized failed, because the device is used. ret is -8020
says: the result is {result}
cause: another container was started with the same card
cause: a process of the host uses the card
apart: on the host: npu-smi info; docker ps --format '{{.Names}}'; docker inspect NAME | grep davinci
fix: stop the other container, or start this one with other cards; with npu-smi set -t device-share -i N -d 1 on the
    host, containers may share a card
"""),
    known(r"""cause
the tools of the card do not work in this container or for this user
line: dcmi module initialize failed\.? ?ret is (?P<result>-[0-9]{1,6})
example: dcmi module initialize failed. ret is -8005
says: the result is {result}
cause: another container holds the card exclusively (-8005)
cause: the container lacks /dev/davinci_manager, /dev/hisi_hdc or the driver's folder
cause: the container dropped capabilities, or /dev/davinciN belongs to another user (uid) than that of the process
apart: npu-smi info on the host; in the container: ls -ln /dev/davinci*; id; grep Cap /proc/self/status
fix: end the other container, or start this one as `hccl-kit container TABLE` prints; in Kubernetes give it the user or
    group of the devices, or do not drop all capabilities
"""),
    known("""cause vague
the driver's library does not work in this container or for this user
line: DrvMngGetConsoleLogLevel failed
example: DrvMngGetConsoleLogLevel failed. (g_conLogLevel=3)
cause: another container holds the card exclusively
cause: the container lacks /dev/davinci_manager, /dev/hisi_hdc or the driver's folder, or lacks the permissions
apart: npu-smi info on the host; ls /dev/davinci* in the container
fix: end the other container, or start this one as `hccl-kit container TABLE` prints
"""),
    known("""cause in_output
hccn_tool is not in this container, so that addresses and TLS of the cards cannot be read
line: hccn_tool: (?:command )?not found
line: Failed to call hccn_tool
example: bash: hccn_tool: command not found
cause: the folder of the driver's tools is not mounted or not in PATH
apart: ls /usr/local/Ascend/driver/tools/hccn_tool
fix: mount it and /etc/hccn.conf, or run the command on the host
"""),
)
