"""Errors of the rank table: the file, its values, and what does not fit the machine."""

from __future__ import annotations

from hccl_kit.diagnosis.errors.row import in_stage, known

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
    known("""cause EI0004
the rank table could not be parsed: the path, the reason, and in older releases every error of a table
cause: RANK_ID is not below the number of ranks of the table: more processes than the table has cards
cause: a card or a rank is listed twice in the table, or the process runs on another card
cause: the path does not exist in the container, or the file is not JSON
fix: correct the table, or start as many processes as it has ranks
""")._replace(tells_apart=_ALL_RULES),
    known("""cause EI0014
a value in the rank table is not what HCCL expects; the message names value, variable and expectation
cause: the version of the table does not match the chip: 1.0 for A2, 1.2 for A3, 2.0 for A5
cause: a stale table is mounted into the container, such as /etc/hccl_rootinfo.json
cause: device_ip or super_device_id is not that of the card
fix: correct the value; do not mount a table of another chip
""")._replace(tells_apart=_ALL_RULES),
    known("""cause EI0017
a key of the rank table is missing, or its value has the wrong type
cause: the table is of another version
cause: numbers and strings are mixed up: 1.x needs numbers in quotes, 2.0 without
fix: add the key, or use a table of the version that the chip takes
""")._replace(tells_apart=_ALL_RULES),
    known("""cause EI0016
a setting differs or is not valid, such as TLS on for one card and off for another. Newer releases also report it,
    instead of EI0014 and EI0017, for a missing key or wrong value of the ranks gathered by root info on Atlas 950,
    without a rank table
cause: TLS is on for some cards and off for others
cause: on Atlas 950: a rank reports a value that HCCL refuses
apart: hccn_tool -i N -tls -g on all servers
fix: set TLS to the same value on all cards: hccn_tool -i N -tls -s enable 0|1
"""),
    known(r"""cause EI0016
TLS is on for some cards of the job and off for others
line: Value (?P<value>\w{1,20}) for config \"?tls\"? is invalid(?:[^\n]{0,120}?enabled tls:\[?(?P<on>
    [^;\n]{0,400}?)\]?; ?rankList for disabled tls:\[?(?P<off>[^;\n]{0,400}?)\]?;)?
line: All ranks are consistent\. Current status
example: EI0016: Value enable for config "tls" is invalid. Reason: rankList for enabled tls:[0,1]; rankList for disabled
    tls:[2,3];
says: HCCL found {value}
says: on: {on}
says: off: {off}
cause: a server was installed, or its TLS switched, differently
apart: hccn_tool -i N -tls -g on all servers
fix: set TLS to the same value on all cards: hccn_tool -i N -tls -s enable 0|1; if it is on, with certificates of one CA
"""),
    known("""cause EI0014
server_count of the table does not match its list of servers
line: Value [0-9]+ for ranktable variable server_count is invalid
example: Value 2 for ranktable variable server_count is invalid
says: the table has "server_count": "{value}", but its server_list has another number of servers
says: fix: write "server_count": "{expected}", or add the missing servers
rule: HK207
"""),
    known("""cause EI0014
a rank is listed twice in the table, or is too high for it
line: Value [0-9]+ for ranktable variable rank_id is invalid
example: EI0014: Value 8 for ranktable variable rank_id is invalid. Expected value: unique and below 8.
says: either rank {value} is a duplicate, or the table has at most {value} devices; if the table is correct,
    RANK_ID={value} of the process is too high for it
rule: HK201
rule: HK202
"""),
    known(r"""cause EI0014
rank_id or server_count of the table is not a number
line: Value (?![0-9]+ for )[^\n]{0,200}? ?for ranktable variable (?P<variable>rank_id|server_count) is invalid
example: EI0014: Value x1 for ranktable variable rank_id is invalid. Expected value: a number.
says: fix: write "{variable}" in decimal digits and in quotes
rule: HK103
"""),
    known(r"""cause EI0014
super_device_id is not a number
line: ranktable variable super_device_id is invalid[. ]*Expected value ?: [^0-9]
line: super_device_id\[[^\]\n]{0,60}\] is invalid
example: [InitGroupStage][RanktableCheck]errNo[0x0000000005010001] super_device_id[] is invalid
cause: the table has version 1.2, and super_device_id is empty or missing
apart: npu-smi info -t spod-info -i N -c 0: it prints the SDID
fix: write the SDID of each card as super_device_id
rule: HK103
"""),
    known("""cause EI0014
super_device_id of the table is not that of the card
line: ranktable variable super_device_id is invalid[. ]*Expected value ?: [0-9]
example: EI0014: Value 7 for ranktable variable super_device_id is invalid. Expected value: 131077.
says: super_device_id of the table is not the SDID of the card
says: fix: write "super_device_id": "{expected}", which is what `npu-smi info -t spod-info` prints as SDID
"""),
    known("""cause EI0014
the process of a rank runs on another card than in the table
line: variable devicePhyId is invalid
example: EI0014: Value 1 for ranktable variable devicePhyId is invalid. Expected value: 3.
""")._replace(
        says=(
            "the process of a rank runs on another card than in the table",
            "the process runs on the card with physical id {value}, the table has {expected}",
            _CARDS,
        )
    ),
    known(r"""cause EI0014
something in the table must be unique and is not
line: \"IP\"? is repeate
example: Value 10.1.2.3 for ranktable variable "IP" is repeate is invalid
""")._replace(says=(_SAME_MESSAGE,), variable=_DUPLICATE),
    known(r"""cause EI0014
two cards of a super pod have the same SDID (super device id)
line: have same superDeviceId ?\[(?P<sdid>[^\]\n]{1,40})\] in superPod ?\[(?P<pod>[^\]\n]{0,60})\](?:
    [^\n]{0,80}?serverId\[(?P<server>[^\]\n]{1,80})\], ?rankId\[(?P<rank>[0-9]{1,8})\](?:[^\n]{0,160}?rankId\[(?P<other>
    [0-9]{1,8})\])?)?
line: superDeviceId ?\[(?P<sdid>[^\]\n]{1,40})\] in superPod ?\[(?P<pod>[^\]\n]{0,60})\] ?is already exist
example: [ERROR] HCCL(77,python3):2025-06-15-15:06:40.500.000 [some_file.cc:12] [78]rank[1] and rank[9] have same
    superDeviceId[131077] in superPod[0]
says: SDID {sdid} in super pod {pod}
says: ranks {rank} ({server}) and {other}
cause: HCCL_LOGIC_SUPERPOD_ID puts servers of two physical super pods into one
cause: the table or the hardware gives two cards the same id
apart: npu-smi info -t spod-info -i N -c 0 on both servers; echo $HCCL_LOGIC_SUPERPOD_ID
fix: unset HCCL_LOGIC_SUPERPOD_ID, or give each physical super pod its own; correct the table
"""),
    known("""cause EI0014
a rank table with no devices on a server
line: for ranktable variable device is invalid
line: Expected value ?: is a positive integer
rule: HK208
""")._replace(
        example="EI0014: Value  for ranktable variable device is invalid. Expected value: is a positive integer."
    ),
    known("""cause EI0014
a rank is listed twice in the table, or is too high for it
line: is less than the communication size
example: The rank_id 8 is not valid: it is less than the communication size 8 and must be unique
says: if the table is correct, RANK_ID of the process is too high for it: HCCL prints the same message
rule: HK201
rule: HK202
"""),
    known(r"""cause EI0014
something in the table must be unique and is not
line: \[(?:server_?id|super_?pod_?id|device_?ip|host_?ip|IP|ip|rank_?id)\] ?:? ?\[[^\]\n]{0,120}\] ?is already exist
example: [server_id]:[x] is already exist
""")._replace(says=(_SAME_MESSAGE,), variable=_DUPLICATE),
    known("""cause EI0004
RANK_ID of the process is not below the number of ranks of the table
line: Use a rank ID that exceeds the rank size in the ranktable
example: EI0004: The ranktable is invalid,Reason:[Use a rank ID that exceeds the rank size in the ranktable.].
cause: more processes are started than the table has cards, such as 8 with a table of 2
cause: RANK_ID is counted from 1, or over other hosts than those of the table
apart: echo $RANK_ID $RANK_SIZE; grep -c rank_id TABLE
fix: start as many processes as the table has ranks, RANK_ID from 0, or use the table of all cards
rule: HK202
"""),
    known("""cause EI0004
the process of a rank runs on another card than in the table
line: ranktable config devId is inconsistent with the local devId
example: EI0004: The ranktable is invalid,Reason:[The ranktable config devId is inconsistent with the local devId.].
cause: a device_id occurs twice in the table, so that one rank gets the card of another
cause: the process was started with another DEVICE_ID or mask than the table has
fix: give each rank its own device_id, the one that its process uses
rule: HK203
""")._replace(tells_apart=_ALL_RULES + "; " + _PHYSICAL),
    known(r"""cause EI0014
the process of a rank runs on another card than in the table
line: ranktable config devId ?\[(?P<table>[0-9]+)\] ?, ?but local devId ?\[(?P<local>[0-9]+)\]
example: ranktable config devId[1],but local devId[3]
""")._replace(
        says=(
            "the table has card {table} for this rank, but its process runs on card {local}; no rule of a table can"
            " detect this",
            _CARDS,
        ),
        tells_apart=_PHYSICAL,
    ),
    known(r"""cause EI0014
device_ip of the table is not the address of the card
line: IP address ?\((?P<table>[^)\n]{1,80})\) in the ranktable is inconsistent(?: with the IP ?\((?P<card>
    [^)\n]{1,80})\))?
line: in the ranktable is inconsistent
example: the IP address(1.2.3.4) in the ranktable is inconsistent with the network adapter
says: device_ip of the table is not the address of the card
says: the table has {table}, the card has {card}
says: fix: write what `hccn_tool -i N -ip -g` prints for card N on that server, or set the address of the card
cause: the card got another address after the table was written
cause: the ranks of two cards are exchanged
apart: hccn_tool -i N -ip -g
"""),
    known(r"""cause EI0014
the network port of a card could not be opened with the address of the table
line: ra rdev init failed[^\n]{0,80}ret ?\[?-17\]?
line: ra_rdev_init[^\n]{0,200}ret ?\[?\(?-17\b
example: [ERROR] HCCP(77,hccp_service.bin):2025-06-15-15:06:40.500.000 [ra.cc:12] [78]ra rdev init failed, ret[-17]
cause: device_ip of the table is not the address of the card
apart: hccn_tool -i N -ip -g
fix: write the address that the tool prints, or set the address of the card
"""),
    known("""cause EI0014
device_ip is missing where the cards must reach each other over RoCE
line: device[_ ]ip.? is not set correctly
example: [ERROR] 'device_ip' is not set correctly, must be set when multi Server
says: a job on several servers needs device_ip; a job on one server only with HCCL_INTRA_ROCE_ENABLE=1
cause: the cards have no address, so the tool that wrote the table left it empty
cause: in a container /etc/hccn.conf or hccn_tool is not mounted, so that the address cannot be read
cause: one machine counts as several servers: two containers with two server ids
apart: hccn_tool -i N -ip -g on every server
fix: set the addresses of the cards, then write the table again
rule: HK305
rule: HK306
"""),
    known(r"""cause EI0014
a card address of the rank table is empty or not a valid address
line: device_ip is invalid in rank ?table
line: rank ?table[^\n]{0,60}device_?[iI]p[^\n]{0,40} is invalid
example: [ERROR] HCCL(77,python3):2025-06-15-15:06:40.500.000 [some_file.cc:12] [78]device_ip is invalid in ranktable
cause: the cards have no address, so the tool that wrote the table left it empty
apart: hccn_tool -i N -ip -g on every server
fix: set the addresses (hccn_tool -i N -ip -s address A netmask M), then write the table again
rule: HK305
rule: HK306
rule: HK301
"""),
    known(r"""cause EI0014
a card number of the table is too high
line: device_id ?\[[^\]\n]{0,40}\] more than [0-9]+ is invalid
example: device_id[8] more than 7 is invalid
rule: HK204
"""),
    known(r"""cause EI0014
the servers of the table have different network cards
line: nic (idx size is 0|total num\[[0-9]+\] error)
example: [CheckAndAssign][NicInfo]nic idx size is 0
rule: HK405
rule: HK410
"""),
    known("""cause EI0014
the servers of the table have different network cards
line: nic list should be the same
example: nic list should be the same between servers
rule: HK405
"""),
    known("""cause EI0014
the devices of the table have different numbers of addresses
line: neq first device size
example: size[1] neq first device size[2]
rule: HK304
"""),
    known(r"""cause EI0017
a key of the rank table is missing, or its value has the wrong type
line: Config (?P<key>[^ \n]{1,100}) is missing in the ranktable
example: EI0017: Config rank_id is missing in the ranktable file.
says: the key "{key}" is missing, or its value has another type: versions 1.x need "0" in quotes, version 2.0 needs 0
    without
rule: HK101
rule: HK102
"""),
    known(r"""cause EI0004
the rank table could not be parsed
line: Failed to parse the ranktable file(?: (?P<path>[^\s]{1,200}?)\. Reason: ?(?P<reason>[^\n]{1,200}))?
example: EI0004 Failed to parse the ranktable file /x/t.json. Reason: no.
says: the file is {path}; the reason: {reason}
says: older releases of CANN print this for every error of a table: `hccl-check FILE` checks all rules
fix: correct what it reports
rule: HK001
rule: HK002
rule: HK008
""")._replace(tells_apart=_ALL_RULES),
    known(r"""cause EI0004
HCCL only reads rank tables whose name ends in .json
line: ^\S{1,300} is not a valid \.json file\.?$
line: (?:HCCL|EI00|rank ?table)[^\n]{0,300} is not a valid \.json file
example: t.txt is not a valid .json file
fix: rename the file
rule: HK008
"""),
    known(r"""cause EI0004
the rank table does not exist for this process, or the process may not read it
line: (?:path )?(?P<path>/[^\s]{0,300}) is not a valid real ?path
line: not a valid real ?path
example: /x is not a valid real path
says: the path is {path}
says: RANK_TABLE_FILE is not a file visible to this process; in a container it is a path of the container
cause: the path is that of the host, not of the container
cause: the user of the process may not read the file
apart: ls -l $RANK_TABLE_FILE in the container, as the user of the job
fix: mount the file, or name its path in the container
"""),
)
