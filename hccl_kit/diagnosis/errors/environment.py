"""Variables, visible cards, and what a container lacks: what stops a process before it contacts another one."""

from __future__ import annotations

from hccl_kit.diagnosis.errors.row import in_stage, known

_STAGE = "start of a process"
_VISIBLE = "ls /dev/davinci*; echo $ASCEND_RT_VISIBLE_DEVICES $ASCEND_VISIBLE_DEVICES"
_RENUMBERED = (
    "inside a container or a virtual machine the cards are numbered from 0: name those numbers in"
    " ASCEND_RT_VISIBLE_DEVICES, or unset it"
)

ROWS = in_stage(
    _STAGE,
    known("""cause EI0001
an environment variable is not valid; with a rank table: its device addresses mix IPv4 and IPv6
cause: the value is outside the range that the message names
cause: two variables are mutually exclusive, such as HCCL_INTRA_PCIE_ENABLE=1 and HCCL_INTRA_ROCE_ENABLE=1
cause: HCCL_SOCKET_IFNAME or HCCL_IF_IP names no interface of this host or container
apart: grep -rh "EnvConfig" ~/ascend/log/debug/plog; ip -brief address
fix: correct the variable that the message names, on all ranks in the same way; `hccl-kit preflight` checks it
"""),
    known(r"""cause EI0001
HCCL refused the value of an environment variable
line: Value (?P<value>[^\n]{0,120}?) for environment variable (?P<name>[A-Z_a-z]{3,60}) is invalid(?:
    [. ]{0,3}Expected value ?: ?(?P<expected>[^\n]{1,160}?)\.? *$)?
line: Env config \"(?P<name>\w{3,60})\" value \"(?P<value>[^\"\n]{0,120})\" is invalid(?:[^\n]{0,200}?(?P<expected>
    [Ss]hould be [^\n]{1,120}))?
line: [Ee]nvironment variable \[(?P<name>[^\]\n]{3,120})\] is invalid(?:\. Reason: ?(?P<expected>[^\n]{1,160}?)\.
    (?: |$))?
line: \b(?P<name>HCCL_[A-Z_]{2,50})\[(?P<value>[^\]\n]{0,120})\] is invalid(?:[. ]{0,3}exc?ept: ?(?P<expected>
    [^\n]{1,80}))?
example: EI0001: Value 9 for environment variable HCCL_RDMA_SL is invalid. Expected value: range[0, 7].
says: {name} is refused
says: its value is {value}
says: HCCL expects: {expected}
cause: the value is out of range, or has the wrong format
cause: another variable excludes it
apart: grep -rh "HCCL_ENV\|base_config" ~/ascend/log/run/plog: the values in effect
fix: set the variable to a value that the message allows, the same on all ranks, or unset it
"""),
    known(r"""cause EI0001
HCCL could not read an environment variable
line: In init env variable param, parse (?P<name>\w{3,60}) failed
line: init env variable param
example: [ERROR] HCCL(77,python3):2025-06-15-15:06:40.500.000 [some_file.cc:12] [78]In init env variable param, parse
    HCCL_RDMA_TC failed
says: the variable is {name}
cause: its value is out of range, or has the wrong format: the line above names value and range
apart: grep -rh -B2 "In init env variable param" ~/ascend/log/debug/plog
fix: correct the variable, in the same way on all ranks
"""),
    known(r"""cause EI0001
HCCL_SOCKET_IFNAME names an interface that this host or container does not have
line: set ifname to \[(?P<names>[^\]\n]{0,200})\] by HCCL_SOCKET_IFNAME, but not found
example: set ifname to [ib0] by HCCL_SOCKET_IFNAME, but not found in the environment
says: it asks for {names}; the lines below list the interfaces that exist
cause: the servers name their interfaces differently, and one value is used for all
cause: in a container only the interfaces of the container exist
apart: ip -brief address
fix: set HCCL_SOCKET_IFNAME per host, as `hccl-kit env TABLE` prints it, or to a common prefix
rule: HK610
"""),
    known(r"""pointer EI0001
an interface of this host that HCCL_SOCKET_IFNAME does not name
line: get host ip fail by socket Ifname\.? ?(?:name\[(?P<name>[^\]\n]{1,60})\] ?ip\[(?P<ip>[^\]\n]{1,80})\])?
example: [ERROR] HCCL(77,python3):2025-06-15-15:06:40.500.000 [some_file.cc:12] [78]get host ip fail by socket Ifname.
    name[eth0] ip[10.1.2.3]
says: {name} has {ip}; the first of these lines names what was asked for
cause: HCCL_SOCKET_IFNAME names none of the listed interfaces
apart: echo $HCCL_SOCKET_IFNAME; ip -brief address
fix: set HCCL_SOCKET_IFNAME to one of the listed interfaces that reaches the other hosts
rule: HK610
"""),
    known(r"""cause EI0001
two ranks use addresses of different families: one IPv4, one IPv6
line: rank\[(?P<rank>[0-9]{1,8})\] device ip ?family\[(?P<own>[0-9]{1,3})\] is not same (?:as|with) others?\[(?P<other>
    [0-9]{1,3})\]
line: RankIpFamily
example: [InitGroupStage][RanktableCheck]rank[0] device ip family[2] is not same as others[10].
says: rank {rank} has family {own}, others {other}; 2 is IPv4 and 10 is IPv6
cause: a card lacks an IPv4 address, so that its IPv6 address is used
cause: device_ip mixes both in the table
apart: hccn_tool -i N -ip -g; hccn_tool -i N -ip -inet6 -g
fix: give all cards addresses of one family, or set HCCL_SOCKET_FAMILY=AF_INET (AF_INET6) on all ranks
rule: HK309
"""),
    known(r"""frame EE1001
the runtime had no context in which to ask the card for its message: the call that failed before has the cause
line: rtGetDevMsg execut(?:e|ion) failed, (?:reason=\[context pointer null\]|the context is a null pointer)
line: \bctx is NULL!\[FUNC:GetDevErrMsg\]
example: EE1001: The argument is invalid.Reason: rtGetDevMsg execute failed, reason=[context pointer null]
cause: a call that failed before the process had set its card; it is printed with every such error
apart: the number that the call returned (107002, 507008, 507033), and the lines below
fix: run `hccl-kit explain` on that number, or on the whole text
"""),
    known(r"""cause EE1001 107001
a process asks for a card that it cannot see
line: set ASCEND_RT_VISIBLE_DEVICES:? ?(?P<asked>[0-9, -]{1,80}) error, input data rang\w{0,2} ?\[(?P<first>[0-9]{1,4})-
    (?P<end>[0-9]{1,4})\)
example: EE1001: The argument is invalid.Reason: set ASCEND_RT_VISIBLE_DEVICES:6 error, input data rang[0-4)
says: ASCEND_RT_VISIBLE_DEVICES={asked}, but only cards {first} up to, not including, {end} exist here
cause: the numbers are those of the host, and the process runs in a container or a virtual machine
""")._replace(tells_apart=_VISIBLE, fix=_RENUMBERED),
    known("""cause EE1001 107001
the list in ASCEND_RT_VISIBLE_DEVICES is not in ascending order
line: set ASCEND_RT_VISIBLE_DEVICES:? ?(?P<asked>[0-9, -]{1,80}) error, it must be configured in ascending order
example: EE1001: Reason: set ASCEND_RT_VISIBLE_DEVICES:2,0 error, it must be configured in ascending order
says: it is {asked}
cause: the list was written by hand, or by a scheduler that orders the cards by their links
apart: echo $ASCEND_RT_VISIBLE_DEVICES
fix: write the same numbers in ascending order, such as 0,1,2,3; if the order of ranks matters, set it in the launcher
    or the rank table
"""),
    known("""cause 107001 in_output
the mask of visible cards leaves this process without the card that it uses
line: [Ss]et visible device failed, invalid device=(?P<device>[0-9]{1,6})(?:, input visible devices:(?P<mask>
    [0-9, ]{0,80}))?
example: SetDevice:Set visible device failed, invalid device=0
says: it uses device {device}; the visible devices are {mask}
says: it uses device {device}
cause: ASCEND_RT_VISIBLE_DEVICES names a card that does not exist in the container
cause: the mask is for another process of the host, such as that of Ray, which gives each actor one card:
    RAY_EXPERIMENTAL_NOSET_ASCEND_RT_VISIBLE_DEVICES=1 switches that off
""")._replace(tells_apart=_VISIBLE, fix=_RENUMBERED),
    known(r"""cause 107001 EE1001
a process asks for a card with a number that does not exist
line: aclrtSetDevice failed, ret\[107001\](?:[^\n]{0,40}?device count\[(?P<count>[0-9]{1,4})\] and device id\[
    (?P<device>[0-9]{1,6})\])?
line: [Gg]ot device count ?\[(?P<count>[0-9]{1,4})\] and device id ?\[(?P<device>[0-9]{1,6})\]
line: invalid device, set drv device=(?P<device>[0-9]{1,6}), valid device range is \[0, ?(?P<count>[0-9]{1,4})\)
example: Call aclrtSetDevice failed, ret[107001]. Got device count[8] and device id[9], please check
says: it asks for card {device}; there are {count}, numbered from 0
cause: more processes than cards were started on this host
cause: several hosts have the same host name, so that the launcher counts them as one
cause: ASCEND_RT_VISIBLE_DEVICES hides cards
fix: start one process per visible card; give the hosts different names
""")._replace(tells_apart=f"hostname; {_VISIBLE}"),
    known("""cause EE9999
the runtime does not find the physical card among those that the process sees
line: phyid:(?P<card>[0-9]{1,6}) realDeviceId:[0-9]{1,6} is err:(?P<error>0x[0-9a-fA-F]{1,10})
line: GetDeviceIndexByPhyId
example: [rank1]: EE9999: [PID: 77] 2025-04-27-03:11:08.269.791 get error: phyid:0 realDeviceId:0 is
    err:0x7010003[FUNC:GetDeviceIndexByPhyId][FILE:api_error.cc][LINE:1918]
says: physical card {card}, error {error}
cause: each process sees one card only (ASCEND_RT_VISIBLE_DEVICES per process) and CANN is older than 8.1.RC1
cause: the container has other cards than the mask names
fix: use CANN 8.1.RC1 or newer, or let all processes of the group see all their cards
""")._replace(tells_apart="cat /usr/local/Ascend/ascend-toolkit/latest/version.cfg; " + _VISIBLE),
    known(r"""cause 107001
ASCEND_RT_VISIBLE_DEVICES (or ASCEND_VISIBLE_DEVICES) is refused
line: ASCEND_(?:RT_)?VISIBLE_DEVICES[^\n]{0,80}?\b(?:error|invalid|illegal|failed)\b
example: EE1001: The argument is invalid. Reason: ASCEND_RT_VISIBLE_DEVICES=9 is invalid
cause: it names a card that does not exist here
cause: its list does not have the format 0,1,2
""")._replace(tells_apart=_VISIBLE, fix=_RENUMBERED),
    known("""cause 507008 in_output
the runtime could not read from the driver which chip the card is
line: init soc version failed, ?ret ?= ?(?P<result>[0-9]{1,6})
example: [Init][Version]init soc version failed, ret = 507008
says: the result is {result}
cause: the container lacks the driver's folder, /dev/davinci_manager or the cards, or the driver's library is not the
    one of the host
cause: CANN is older than the chip or the driver needs
cause: another container holds the card
apart: npu-smi info here and on the host; cat /usr/local/Ascend/driver/version.info; ls /dev/davinci*
fix: start the container with the mounts that `hccl-kit container TABLE` prints; else install the CANN that the release
    notes of your driver name
"""),
    known("""cause 207004 needs_context
no card is visible to the process
line: o NPU (?:devices? )?(?:is |are )?(?:available|found|detected)
line: o npu device (?:available|found|detected)
line: NPU device not (?:available|found|detected)
line: npu get board type failed
example: RuntimeError: torch_npu: No NPU available
cause: the container lacks /dev/davinciN, /dev/davinci_manager or the driver's folder
cause: the driver is not loaded, or the user is not in its group
apart: ls /dev/davinci*; npu-smi info
fix: start the container with the devices and mounts that `hccl-kit container TABLE` prints
"""),
    known(r"""cause
hccn_tool cannot read the state of the card's network port, here of its TLS
line: hccn_tool [^\n]{0,80}-tls -g *(?:[Cc]ommand|$)
line: ^ *Command execute failed!? *$
line: tool execute failed
example: $ hccn_tool -i 0 -tls -g Command execute failed!
cause: the tool runs in a container or a virtual machine without the driver's device or the permissions
cause: the tool and the driver are of different releases
cause: the card has no network port of its own
apart: run it as root on the host: hccn_tool -i N -tls -g; ls -l /dev/davinci_manager
fix: run it on the host, and set TLS to the same value on all cards (hccn_tool -i N -tls -s enable 0|1)
"""),
    known(r"""cause needs_context vague
a library lacks a function that another one calls: packages of different releases are installed
line: undefined symbol: (?P<symbol>\w{1,160})
example: ImportError: /usr/lib/libfoo.so: undefined symbol: _ZN3c104warnE
says: it is {symbol}
cause: torch_npu, CANN or its kernels are of different releases
cause: LD_LIBRARY_PATH names two releases
apart: ldd -r LIBRARY; echo $LD_LIBRARY_PATH
fix: install packages of one release, and source only its set_env.sh
"""),
    known("""cause in_output
a file that is read is a folder: docker makes one where the file to mount does not exist on the host
line: basic_filebuf::underflow error reading the file: Is a directory
cause: /etc/hccl_rootinfo.json (A5), /etc/hccn.conf or the rank table does not exist on the host
apart: ls -ld /etc/hccl_rootinfo.json /etc/hccn.conf here and on the host
fix: create the file on the host (A5: mindcluster-tools rootinfo --output /etc/hccl_rootinfo.json), remove the folder
    that docker made, and start the container again
""")._replace(example="[rank3]:   what():  basic_filebuf::underflow error reading the file: Is a directory"),
    known(r"""cause
a file that the driver needs in the container is missing or is of another chip
line: /etc/hccl_rootinfo\.json\b
line: driver/topo/[\w.-]{1,80}\.json
example: open /etc/hccl_rootinfo.json failed
cause: the file is not mounted, or one of another generation of chips is
apart: head -c 300 /etc/hccl_rootinfo.json; ls /usr/local/Ascend/driver/topo
fix: mount the host's own file: version 1.0 of a table is for A2, 1.2 for A3, 2.0 for A5
"""),
)
