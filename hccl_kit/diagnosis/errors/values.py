"""Lines that state facts: which process is which rank, what is in effect, what an operator was called with."""

from __future__ import annotations

from hccl_kit.diagnosis.errors.row import KnownError

_MAPS = "it maps a group to rank, host and card: use it to find the log of a rank"

ROWS: tuple[KnownError, ...] = (
    KnownError(
        "a process joins a communicator",
        role="fact",
        patterns=(
            r"Entry-HcclCommInit\w{0,40}(?: V\w{1,12})? ?:? ?ranks ?\[(?P<ranks>[0-9]{1,8})\], ?rank ?\["
            r"(?P<rank>[0-9]{1,8})\](?:[^\n]{0,20}?rootinfo ?:? ?host ip ?\[(?P<root>[^\]\n]{0,100})\](?: ?port ?\["
            r"(?P<port>[0-9]{1,5})\])?)?(?:[^\n]{0,60}?identifier ?\[(?P<group>[^\]\n]{1,200})\])?"
            r"(?:[^\n]{0,20}?deviceLogicId ?\[(?P<card>[0-9]{1,6})\])?",
            r"Entry-HcclCommInit\w{0,40}",
        ),
        says=(
            "it is rank {rank} of {ranks}",
            "the group is {group}",
            "the root is at {root}",
            "port {port}",
            "its logical device id is {card}",
        ),
        causes=(_MAPS,),
        tells_apart='grep -rh "Entry-HcclCommInit" */run/plog: one line for each rank of the group; a rank'
        " without it never tried to join",
    ),
    KnownError(
        "the root of a communicator starts to wait for the ranks",
        role="fact",
        patterns=(
            r"Entry-HcclGetRootInfo\w{0,20} ?:?(?:[^\n]{0,60}?deviceLogicId ?\[(?P<card>[0-9]{1,6})\])?",
            r"HcclGetRootInfo\w{0,20} success",
        ),
        says=("its logical device id is {card}",),
        causes=("this process is the root, usually rank 0",),
    ),
    KnownError(
        "which rank runs where",
        role="fact",
        patterns=(
            r"SetupAgent rankNum ?\[(?P<ranks>[0-9]{1,8})\], ?rank ?\[(?P<rank>[0-9]{1,8})\](?:[^\n]{0,80}?identifier"
            r" ?\[(?P<group>"
            r"[^\]\n]{1,200})\])?(?:[^\n]{0,20}?server ?\[(?P<server>[^\]\n]{1,100})\])?(?:[^\n]{0,120}?logicDevId"
            r" ?\[(?P<logic>[0-9]{1,6})\])?"
            r"(?:[^\n]{0,20}?phydevId ?\[(?P<card>[0-9]{1,6})\])?(?:[^\n]{0,20}?deviceIp ?\[(?P<ip>[^\]\n]{1,80})\])?",
            r"hcom init by file succe\w{0,4}[^\n]{0,40}?rankNum ?\[(?P<ranks>[0-9]{1,8})\], ?rank ?\["
            r"(?P<rank>[0-9]{1,8})\](?:, ?server ?\[(?P<server>[^\]\n]{1,100})\])?(?:, ?device ?\["
            r"(?P<card>[0-9]{1,6})\])?",
            r"hcclCommInitInfo ?: ?commId ?\[(?P<group>[^\]\n]{1,200})\](?:, ?rank ?\[(?P<rank>[0-9]{1,8})\])?"
            r"(?:, ?totalRanks ?\[(?P<ranks>[0-9]{1,8})\])?(?:, ?serverId ?\[(?P<server>[^\]\n]{1,100})\])?",
            r"\[LocalRank Key Info\][^\n]{0,10}?userRank ?\[(?P<rank>[0-9]{1,8})\](?: ?hostIp ?\["
            r"(?P<host>[^\]\n]{1,80})\])?(?: ?devicePhyId ?\[(?P<card>[0-9]{1,6})\])?(?: ?server ?\["
            r"(?P<server>[^\]\n]{1,100})\])?(?: ?deviceIp ?\[(?P<ip>[^\]\n]{1,80})\])?",
            r"HcclCommInit\w{0,40} success[^\n]{0,60}?rankNum ?\[(?P<ranks>[0-9]{1,8})\], ?rank ?\["
            r"(?P<rank>[0-9]{1,8})\]",
        ),
        says=(
            "rank {rank} of {ranks}",
            "rank {rank}, host {host}",
            "server {server}",
            "physical card {card}",
            "card address {ip}",
            "the group is {group}",
        ),
        causes=(_MAPS,),
    ),
    KnownError(
        "the shape of a communicator",
        role="fact",
        patterns=(
            r"\[Communicator Key Info\] ?identifier ?\[(?P<group>[^\]\n]{1,200})\](?: ?rankSize ?\["
            r"(?P<ranks>[0-9]{1,8})\])?(?: ?serverNum ?\[(?P<servers>[0-9]{1,8})\])?(?:[^\n]{0,40}?superPodNum ?\["
            r"(?P<pods>[0-9]{1,8})\])?",
        ),
        says=("the group is {group}", "{ranks} ranks on {servers} servers", "{pods} super pods"),
        causes=("it must be the same on all ranks of the group",),
    ),
    KnownError(
        "a process leaves a communicator",
        role="fact",
        patterns=(r"Entry-HcclCommDestroy", r"(?:hcom|op_base comm) destroy (?:begin|complete)", r"Entry-HcomDestroy"),
        causes=("normal at the end; if it comes before an error of another rank, this process left too early",),
    ),
    KnownError(
        "an operator was called (HCCL_ENTRY_LOG_ENABLE=1)",
        role="fact",
        patterns=(
            r"Entry-(?P<operator>Hccl[A-Z]\w{2,30}) ?: ?tag ?\[(?P<tag>[^\]\n]{1,200})\](?:[^\n]{0,120}?count ?\["
            r"(?P<count>[0-9]{1,20})\])?(?:[^\n]{0,20}?dataType ?\[(?P<type>\w{1,20})\])?(?:[^\n]{0,20}?op ?\["
            r"(?P<reduce>\w{1,20})\])?(?:[^\n]{0,20}?localRank ?\[(?P<rank>[0-9]{1,8})\])?(?:[^\n]{0,20}?streamId"
            r" ?\[(?P<stream>[0-9]{1,8})\])?",
        ),
        says=(
            "{operator} of rank {rank}",
            "{count} elements of {type}",
            "its tag is {tag}",
            "it runs in stream {stream}; one group in two streams at once is not allowed",
        ),
        causes=("the order, count and type must be the same on all ranks of the group",),
        tells_apart='grep -rh "Entry-Hccl" */run/plog, one column per rank',
    ),
    KnownError(
        "the tag of an operator, and the group that it belongs to",
        role="fact",
        patterns=(
            r"GenerateOpTag[^\n]{0,120}?group ?\[(?P<group>[^\]\n]{1,200})\][^\n]{0,40}?generated op tag ?\["
            r"(?P<tag>[^\]\n]{1,200})\]",
        ),
        says=("{tag} belongs to {group}",),
        causes=("tags of one group must come in the same order on all ranks",),
    ),
    KnownError(
        "a port of a card is open",
        role="fact",
        patterns=(
            r"\]Listen on ip ?\[(?P<ip>[^\]\n]{1,80})\], ?port ?\[(?P<port>[0-9]{1,5})\] ?suc+es{1,2}(?:, ?devPhyId"
            r" ?\[(?P<card>[0-9]{1,6})\])?",
        ),
        says=("address {ip}, port {port}", "physical card {card}"),
        causes=("it maps a card address to a card",),
    ),
    KnownError(
        "the interface that HCCL chose for the host network",
        role="fact",
        patterns=(r"get host ip success[^\n]{0,40}?\[?(?P<ip>[0-9a-fA-F.:%\w]{7,60})?", r"find nic[^\n]{0,60}success"),
        says=("{ip}",),
        causes=("all hosts must use interfaces that reach each other; HCCL_SOCKET_IFNAME selects them",),
    ),
    KnownError(
        "the value of a variable that is in effect for this process",
        role="value",
        patterns=(
            r"\[HCCL_ENV\][^\n]{0,60}?(?P<name>HCCL_\w{2,50}|PROFILING_MODE) (?:is )?set (?:by (?P<source>default"
            r"|environment)(?: variable)?)?[^\n]{0,24}?to (?:default value )?\[(?P<value>[^\]\n]{0,120})\]",
            r"\[HCCL_ENV\][^\n]{0,60}?(?P<name>HCCL_\w{2,50}|PROFILING_MODE)[^\n]{0,80}?is (?P<source>not set|empty)",
            r"\[HCCL_ENV\][^\n]{0,60}?(?P<name>HCCL_\w{2,50}) is \[(?P<value>[^\]\n]{0,120})\]",
            r"\[HCCL_ENV\][^\n]{0,60}?(?P<name>HCCL_\w{2,50})",
            r"\b(?P<name>HCCL_\w{2,50}) set by (?P<source>default|environment) to \[(?P<value>[^\]\n]{0,120})\]",
            r"environmental variable (?P<name>HCCL_\w{2,50}) is set, ?\w{1,20} ?\[(?P<value>[^\]\n]{0,80})\]",
            r"Env config \"(?P<name>HCCL_\w{2,50})\" is (?:(?P<source>not set)|parsed)",
        ),
        says=(
            "{name} is {value}, set by {source}",
            "{name} is {value}",
            "{name}: {source}, so the default applies",
            "{name}",
        ),
        causes=("if it differs between ranks, they may wait for each other: compare it over the ranks",),
        tells_apart='grep -rh "HCCL_ENV\\|base_config" */run/plog | sort | uniq -c',
    ),
    KnownError(
        "a trace line of HCCL, not an error by itself",
        role="fact",
        patterns=(r"\[HCCL_TRACE\]",),
    ),
    KnownError(
        "the settings of a communicator",
        role="value",
        patterns=(
            r"comm config of ?\[(?P<group>[^\]\n]{1,200})\]: ?(?P<settings>[^\n]{1,160})",
            r"\[BuildRemoteResByTag\] ?newtag ?\[(?P<tag>[^\]\n]{1,200})\]",
        ),
        says=("of the group {group}: {settings}", "its operator {tag} sets up its resources"),
        causes=("they must be the same on all ranks of the group",),
    ),
    KnownError(
        "which rank of which communicator a process is",
        role="fact",
        patterns=(
            r"commId ?\[(?P<group>[^\]\n]{1,200})\], ?rank ?\[(?P<rank>[0-9]{1,8})\](?:, ?totalRanks"
            r" ?\[(?P<ranks>[0-9]{1,8})\])?",
        ),
        says=("rank {rank} of {ranks}", "the group is {group}"),
        causes=(_MAPS,),
    ),
    KnownError(
        "the creation of a communicator failed in the stage that the line names",
        role="result",
        patterns=(r"\[InitGroupStage\]\[(?P<part>RanktableConfig|RanktableCheck|RanktableDetect|EnvConfig)\]",),
        says=(
            "the part is {part}: Config reads the table, Check compares it, Detect gathers the ranks over the network",
        ),
        causes=("the text after the tags, or the first ERROR line of this process, names the reason",),
        tells_apart="the first ERROR line of this process",
        fix="run `hccl-kit explain` on that line",
    ),
    KnownError(
        "a part of the rank table could not be read; the line above it names the value",
        role="frame",
        patterns=(r"get dev list error ?: ?serverId ?\[(?P<server>[^\]\n]{1,80})\]",),
        says=("the server is {server}",),
        causes=("the line above it names the value",),
        tells_apart="hccl-check FILE",
        fix="correct the table",
    ),
    KnownError(
        "the history of the link of a card's port; while it is down, packets are lost (EI0013)",
        role="fact",
        patterns=(
            r"\[devid (?P<card>[0-9]{1,4})\] ?link down count +: ?(?P<count>[0-9]{1,8})",
            r"\[devid (?P<card>[0-9]{1,4})\] +(?P<time>\w{3} \w{3} +[0-9: ]{13,16})\s+LINK DOWN",
            r"\[devid (?P<card>[0-9]{1,4})\] ?(?:current time|link up count|link change records|  .{10,30}LINK UP)",
        ),
        says=("card {card} lost its link {count} times", "card {card} lost its link at {time}", "card {card}"),
        causes=("the cable, the optical module, or the port of the switch",),
        fix="compare the time with that of the error; change cable or module",
    ),
    KnownError(
        "one end of a one-sided link (prefill and decode) starts to connect; the other must follow within the timeout",
        role="fact",
        patterns=(
            r"Entry-HcclCommPrepare ?:? ?comm ?\[(?P<ends>[^\]\n]{1,160})\](?:, ?timeout"
            r" ?\[(?P<seconds>[0-9]{1,6}) ?s?\])?",
        ),
        says=("between {ends}", "within {seconds} s"),
        causes=("if the two ends start further apart than the timeout, both fail",),
        tells_apart='grep -rh "Entry-HcclCommPrepare" */run/plog of both ends: compare the times of one comm',
    ),
    KnownError(
        "TLS of the network port of a card",
        role="value",
        patterns=(
            r"TLS SWITCH ?\((?P<on>[01])\)",
            r"dev_id ?: ?(?P<card>[0-9]{1,6}), ?tls switch ?\[(?P<on>[01])\]",
        ),
        says=("the switch is {on}: 0 is off, 1 is on", "the card is {card}"),
        causes=("if it differs between the ends of a link, both ends time out (EI0006)",),
        tells_apart="hccn_tool -i N -tls -g on all servers",
        fix="set it to the same value on all cards: hccn_tool -i N -tls -s enable 0|1",
    ),
)
