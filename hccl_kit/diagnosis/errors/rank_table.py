"""Errors of the rank table: the file, its values, and what does not fit the machine."""

from __future__ import annotations

from hccl_kit.diagnosis.errors.row import KnownError, in_stage

_STAGE = "creation of the communicator, before any connection"
_ALL_RULES = "hccl-check FILE"
_DUPLICATE = '"IP" is repeate'
_SAME_MESSAGE = "HCCL prints the same message for a duplicate server id, super pod id and address"
_CARDS = (
    "fix: start the rank on the card of the table (DEVICE_ID, ASCEND_RT_VISIBLE_DEVICES), or write physical ids into"
    " the table: the N of /dev/davinciN, also inside a container, where programs number cards from 0"
)
_PHYSICAL = "ls /dev/davinci*; echo $DEVICE_ID $ASCEND_RT_VISIBLE_DEVICES"

ROWS = in_stage(
    _STAGE,
    KnownError(
        "the rank table could not be parsed: the path, the reason, and in older releases every error of a table",
        codes=("EI0004",),
        causes=(
            "RANK_ID is not below the number of ranks of the table: more processes than the table has cards",
            "a card or a rank is listed twice in the table, or the process runs on another card",
            "the path does not exist in the container, or the file is not JSON",
        ),
        tells_apart=_ALL_RULES,
        fix="correct the table, or start as many processes as it has ranks",
    ),
    KnownError(
        "a value in the rank table is not what HCCL expects; the message names value, variable and expectation",
        codes=("EI0014",),
        causes=(
            "the version of the table does not match the chip: 1.0 for A2, 1.2 for A3, 2.0 for A5",
            "a stale table is mounted into the container, such as /etc/hccl_rootinfo.json",
            "device_ip or super_device_id is not that of the card",
        ),
        tells_apart=_ALL_RULES,
        fix="correct the value; do not mount a table of another chip",
    ),
    KnownError(
        "a key of the rank table is missing, or its value has the wrong type",
        codes=("EI0017",),
        causes=(
            "the table is of another version",
            "numbers and strings are mixed up: 1.x needs numbers in quotes, 2.0 without",
        ),
        tells_apart=_ALL_RULES,
        fix="add the key, or use a table of the version that the chip takes",
    ),
    KnownError(
        "a setting differs or is not valid, such as TLS on for one card and off for another. Newer releases also report"
        " it, instead of EI0014 and EI0017, for a missing key or wrong value of the ranks gathered by root info on"
        " Atlas"
        " 950, without a rank table",
        codes=("EI0016",),
        causes=(
            "TLS is on for some cards and off for others",
            "on Atlas 950: a rank reports a value that HCCL refuses",
        ),
        tells_apart="hccn_tool -i N -tls -g on all servers",
        fix="set TLS to the same value on all cards: hccn_tool -i N -tls -s enable 0|1",
    ),
    KnownError(
        "TLS is on for some cards of the job and off for others",
        codes=("EI0016",),
        patterns=(
            r"Value (?P<value>\w{1,20}) for config \"?tls\"? is invalid(?:[^\n]{0,120}?enabled tls:\[?"
            r"(?P<on>[^;\n]{0,400}?)\]?; ?rankList for disabled tls:\[?(?P<off>[^;\n]{0,400}?)\]?;)?",
            r"All ranks are consistent\. Current status",
        ),
        example='EI0016: Value enable for config "tls" is invalid. Reason: rankList for enabled tls:[0,1]; rankList'
        " for disabled tls:[2,3];",
        says=("HCCL found {value}", "on: {on}", "off: {off}"),
        causes=("a server was installed, or its TLS switched, differently",),
        tells_apart="hccn_tool -i N -tls -g on all servers",
        fix="set TLS to the same value on all cards: hccn_tool -i N -tls -s enable 0|1; "
        "if it is on, with certificates of one CA",
    ),
    KnownError(
        "server_count of the table does not match its list of servers",
        codes=("EI0014",),
        patterns=(r"Value [0-9]+ for ranktable variable server_count is invalid",),
        example="Value 2 for ranktable variable server_count is invalid",
        says=(
            'the table has "server_count": "{value}", but its server_list has another number of servers',
            'fix: write "server_count": "{expected}", or add the missing servers',
        ),
        rules=("HK207",),
    ),
    KnownError(
        "a rank is listed twice in the table, or is too high for it",
        codes=("EI0014",),
        patterns=(r"Value [0-9]+ for ranktable variable rank_id is invalid",),
        example="EI0014: Value 8 for ranktable variable rank_id is invalid. Expected value: unique and below 8.",
        says=(
            "either rank {value} is a duplicate, or the table has at most {value} devices; if the table is correct,"
            " RANK_ID={value} of the process is too high for it",
        ),
        rules=("HK201", "HK202"),
    ),
    KnownError(
        "rank_id or server_count of the table is not a number",
        codes=("EI0014",),
        patterns=(
            r"Value (?![0-9]+ for )[^\n]{0,200}? ?for ranktable variable (?P<variable>rank_id|server_count) is invalid",
        ),
        example="EI0014: Value x1 for ranktable variable rank_id is invalid. Expected value: a number.",
        says=('fix: write "{variable}" in decimal digits and in quotes',),
        rules=("HK103",),
    ),
    KnownError(
        "super_device_id is not a number",
        codes=("EI0014",),
        patterns=(
            r"ranktable variable super_device_id is invalid[. ]*Expected value ?: [^0-9]",
            r"super_device_id\[[^\]\n]{0,60}\] is invalid",
        ),
        example="[InitGroupStage][RanktableCheck]errNo[0x0000000005010001] super_device_id[] is invalid",
        causes=("the table has version 1.2, and super_device_id is empty or missing",),
        tells_apart="npu-smi info -t spod-info -i N -c 0: it prints the SDID",
        fix="write the SDID of each card as super_device_id",
        rules=("HK103",),
    ),
    KnownError(
        "super_device_id of the table is not that of the card",
        codes=("EI0014",),
        patterns=(r"ranktable variable super_device_id is invalid[. ]*Expected value ?: [0-9]",),
        example="EI0014: Value 7 for ranktable variable super_device_id is invalid. Expected value: 131077.",
        says=(
            "super_device_id of the table is not the SDID of the card",
            'fix: write "super_device_id": "{expected}", which is what `npu-smi info -t spod-info` prints as SDID',
        ),
    ),
    KnownError(
        "the process of a rank runs on another card than in the table",
        codes=("EI0014",),
        patterns=(r"variable devicePhyId is invalid",),
        example="EI0014: Value 1 for ranktable variable devicePhyId is invalid. Expected value: 3.",
        says=(
            "the process of a rank runs on another card than in the table",
            "the process runs on the card with physical id {value}, the table has {expected}",
            _CARDS,
        ),
    ),
    KnownError(
        "something in the table must be unique and is not",
        codes=("EI0014",),
        patterns=(r"\"IP\"? is repeate",),
        example='Value 10.1.2.3 for ranktable variable "IP" is repeate is invalid',
        says=(_SAME_MESSAGE,),
        variable=_DUPLICATE,
    ),
    KnownError(
        "two cards of a super pod have the same SDID (super device id)",
        codes=("EI0014",),
        patterns=(
            r"have same superDeviceId ?\[(?P<sdid>[^\]\n]{1,40})\] in superPod ?\[(?P<pod>[^\]\n]{0,60})\]"
            r"(?:[^\n]{0,80}?serverId\[(?P<server>[^\]\n]{1,80})\], ?rankId\[(?P<rank>[0-9]{1,8})\]"
            r"(?:[^\n]{0,160}?rankId\[(?P<other>[0-9]{1,8})\])?)?",
            r"superDeviceId ?\[(?P<sdid>[^\]\n]{1,40})\] in superPod ?\[(?P<pod>[^\]\n]{0,60})\] ?is already exist",
        ),
        example="[ERROR] HCCL(77,python3):2025-06-15-15:06:40.500.000 [some_file.cc:12] [78]rank[1] and rank[9] have"
        " same superDeviceId[131077] in superPod[0]",
        says=("SDID {sdid} in super pod {pod}", "ranks {rank} ({server}) and {other}"),
        causes=(
            "HCCL_LOGIC_SUPERPOD_ID puts servers of two physical super pods into one",
            "the table or the hardware gives two cards the same id",
        ),
        tells_apart="npu-smi info -t spod-info -i N -c 0 on both servers; echo $HCCL_LOGIC_SUPERPOD_ID",
        fix="unset HCCL_LOGIC_SUPERPOD_ID, or give each physical super pod its own; correct the table",
    ),
    KnownError(
        "a rank table with no devices on a server",
        codes=("EI0014",),
        patterns=(r"for ranktable variable device is invalid", r"Expected value ?: is a positive integer"),
        example="EI0014: Value  for ranktable variable device is invalid. Expected value: is a positive integer.",
        rules=("HK208",),
    ),
    KnownError(
        "a rank is listed twice in the table, or is too high for it",
        codes=("EI0014",),
        patterns=(r"is less than the communication size",),
        example="The rank_id 8 is not valid: it is less than the communication size 8 and must be unique",
        says=("if the table is correct, RANK_ID of the process is too high for it: HCCL prints the same message",),
        rules=("HK201", "HK202"),
    ),
    KnownError(
        "something in the table must be unique and is not",
        codes=("EI0014",),
        patterns=(
            r"\[(?:server_?id|super_?pod_?id|device_?ip|host_?ip|IP|ip|rank_?id)\] ?:? ?\[[^\]\n]{0,120}\] ?"
            r"is already exist",
        ),
        example="[server_id]:[x] is already exist",
        says=(_SAME_MESSAGE,),
        variable=_DUPLICATE,
    ),
    KnownError(
        "RANK_ID of the process is not below the number of ranks of the table",
        codes=("EI0004",),
        patterns=(r"Use a rank ID that exceeds the rank size in the ranktable",),
        example="EI0004: The ranktable is invalid,Reason:[Use a rank ID that exceeds the rank size in the ranktable.].",
        causes=(
            "more processes are started than the table has cards, such as 8 with a table of 2",
            "RANK_ID is counted from 1, or over other hosts than those of the table",
        ),
        tells_apart="echo $RANK_ID $RANK_SIZE; grep -c rank_id TABLE",
        fix="start as many processes as the table has ranks, RANK_ID from 0, or use the table of all cards",
        rules=("HK202",),
    ),
    KnownError(
        "the process of a rank runs on another card than in the table",
        codes=("EI0004",),
        patterns=(r"ranktable config devId is inconsistent with the local devId",),
        example="EI0004: The ranktable is invalid,Reason:[The ranktable config devId is inconsistent with the local"
        " devId.].",
        causes=(
            "a device_id occurs twice in the table, so that one rank gets the card of another",
            "the process was started with another DEVICE_ID or mask than the table has",
        ),
        tells_apart=_ALL_RULES + "; " + _PHYSICAL,
        fix="give each rank its own device_id, the one that its process uses",
        rules=("HK203",),
    ),
    KnownError(
        "the process of a rank runs on another card than in the table",
        codes=("EI0014",),
        patterns=(r"ranktable config devId ?\[(?P<table>[0-9]+)\] ?, ?but local devId ?\[(?P<local>[0-9]+)\]",),
        example="ranktable config devId[1],but local devId[3]",
        says=(
            "the table has card {table} for this rank, but its process runs on card {local}; no rule of a table can"
            " detect this",
            _CARDS,
        ),
        tells_apart=_PHYSICAL,
    ),
    KnownError(
        "device_ip of the table is not the address of the card",
        codes=("EI0014",),
        patterns=(
            r"IP address ?\((?P<table>[^)\n]{1,80})\) in the ranktable is inconsistent(?: with the IP ?"
            r"\((?P<card>[^)\n]{1,80})\))?",
            r"in the ranktable is inconsistent",
        ),
        example="the IP address(1.2.3.4) in the ranktable is inconsistent with the network adapter",
        says=(
            "device_ip of the table is not the address of the card",
            "the table has {table}, the card has {card}",
            "fix: write what `hccn_tool -i N -ip -g` prints for card N on that server, or set the address of the card",
        ),
        causes=("the card got another address after the table was written", "the ranks of two cards are exchanged"),
        tells_apart="hccn_tool -i N -ip -g",
    ),
    KnownError(
        "the network port of a card could not be opened with the address of the table",
        codes=("EI0014",),
        patterns=(r"ra rdev init failed[^\n]{0,80}ret ?\[?-17\]?", r"ra_rdev_init[^\n]{0,200}ret ?\[?\(?-17\b"),
        example="[ERROR] HCCP(77,hccp_service.bin):2025-06-15-15:06:40.500.000 [ra.cc:12] [78]ra rdev init failed,"
        " ret[-17]",
        causes=("device_ip of the table is not the address of the card",),
        tells_apart="hccn_tool -i N -ip -g",
        fix="write the address that the tool prints, or set the address of the card",
    ),
    KnownError(
        "device_ip is missing where the cards must reach each other over RoCE",
        codes=("EI0014",),
        patterns=(r"device[_ ]ip.? is not set correctly",),
        example="[ERROR] 'device_ip' is not set correctly, must be set when multi Server",
        says=("a job on several servers needs device_ip; a job on one server only with HCCL_INTRA_ROCE_ENABLE=1",),
        causes=(
            "the cards have no address, so the tool that wrote the table left it empty",
            "in a container /etc/hccn.conf or hccn_tool is not mounted, so that the address cannot be read",
            "one machine counts as several servers: two containers with two server ids",
        ),
        tells_apart="hccn_tool -i N -ip -g on every server",
        fix="set the addresses of the cards, then write the table again",
        rules=("HK305", "HK306"),
    ),
    KnownError(
        "a card address of the rank table is empty or not a valid address",
        codes=("EI0014",),
        patterns=(r"device_ip is invalid in rank ?table", r"rank ?table[^\n]{0,60}device_?[iI]p[^\n]{0,40} is invalid"),
        example="[ERROR] HCCL(77,python3):2025-06-15-15:06:40.500.000 [some_file.cc:12] [78]device_ip is invalid in"
        " ranktable",
        causes=("the cards have no address, so the tool that wrote the table left it empty",),
        tells_apart="hccn_tool -i N -ip -g on every server",
        fix="set the addresses (hccn_tool -i N -ip -s address A netmask M), then write the table again",
        rules=("HK305", "HK306", "HK301"),
    ),
    KnownError(
        "a card number of the table is too high",
        codes=("EI0014",),
        patterns=(r"device_id ?\[[^\]\n]{0,40}\] more than [0-9]+ is invalid",),
        example="device_id[8] more than 7 is invalid",
        rules=("HK204",),
    ),
    KnownError(
        "the servers of the table have different network cards",
        codes=("EI0014",),
        patterns=(r"nic (idx size is 0|total num\[[0-9]+\] error)",),
        example="[CheckAndAssign][NicInfo]nic idx size is 0",
        rules=("HK405", "HK410"),
    ),
    KnownError(
        "the servers of the table have different network cards",
        codes=("EI0014",),
        patterns=(r"nic list should be the same",),
        example="nic list should be the same between servers",
        rules=("HK405",),
    ),
    KnownError(
        "the devices of the table have different numbers of addresses",
        codes=("EI0014",),
        patterns=(r"neq first device size",),
        example="size[1] neq first device size[2]",
        rules=("HK304",),
    ),
    KnownError(
        "a key of the rank table is missing, or its value has the wrong type",
        codes=("EI0017",),
        patterns=(r"Config (?P<key>[^ \n]{1,100}) is missing in the ranktable",),
        example="EI0017: Config rank_id is missing in the ranktable file.",
        says=(
            'the key "{key}" is missing, or its value has another type: versions 1.x need "0" in quotes, version 2.0'
            " needs 0 without",
        ),
        rules=("HK101", "HK102"),
    ),
    KnownError(
        "the rank table could not be parsed",
        codes=("EI0004",),
        patterns=(
            r"Failed to parse the ranktable file(?: (?P<path>[^\s]{1,200}?)\. Reason: ?(?P<reason>[^\n]{1,200}))?",
        ),
        example="EI0004 Failed to parse the ranktable file /x/t.json. Reason: no.",
        says=(
            "the file is {path}; the reason: {reason}",
            "older releases of CANN print this for every error of a table: `hccl-check FILE` checks all rules",
        ),
        tells_apart=_ALL_RULES,
        fix="correct what it reports",
        rules=("HK001", "HK002", "HK008"),
    ),
    KnownError(
        "HCCL only reads rank tables whose name ends in .json",
        codes=("EI0004",),
        patterns=(
            r"^\S{1,300} is not a valid \.json file\.?$",
            r"(?:HCCL|EI00|rank ?table)[^\n]{0,300} is not a valid \.json file",
        ),
        example="t.txt is not a valid .json file",
        fix="rename the file",
        rules=("HK008",),
    ),
    KnownError(
        "the rank table does not exist for this process, or the process may not read it",
        codes=("EI0004",),
        patterns=(r"(?:path )?(?P<path>/[^\s]{0,300}) is not a valid real ?path", r"not a valid real ?path"),
        example="/x is not a valid real path",
        says=(
            "the path is {path}",
            "RANK_TABLE_FILE is not a file visible to this process; in a container it is a path of the container",
        ),
        causes=("the path is that of the host, not of the container", "the user of the process may not read the file"),
        tells_apart="ls -l $RANK_TABLE_FILE in the container, as the user of the job",
        fix="mount the file, or name its path in the container",
    ),
)
