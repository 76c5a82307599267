"""What stops a process before HCCL starts: libraries, releases of CANN, ports of a service, Ray, MindSpore's roles."""

from __future__ import annotations

from hccl_kit.diagnosis.errors.row import KnownError, in_stage

_SET_ENV = "source /usr/local/Ascend/ascend-toolkit/set_env.sh in the shell, or the image, that starts the program"
_CANN_VERSION = (
    "cat /usr/local/Ascend/ascend-toolkit/latest/version.cfg; pip list | grep -i torch; echo $LD_LIBRARY_PATH"
)
_PROCESSES = "npu-smi info on the host: processes and memory of each card"

ROWS = in_stage(
    "start of a process",
    KnownError(
        "a library of the driver is not found",
        patterns=(
            r"\b(?P<file>lib(?:ascend_hal|drvdsmi|dcmi|dsmi)\w{0,30}\.so[.0-9]{0,10}): cannot open shared object file",
            r"\bDCMIError_LibraryNotFound\b",
            r"\bDCMI_ERROR_LIBRARY_NOT_FOUND\b",
        ),
        example="ImportError: libascend_hal.so: cannot open shared object file: No such file or directory",
        says=("it is {file}",),
        causes=(
            "the container lacks the driver's folder (/usr/local/Ascend/driver) or its libdcmi.so (/usr/local/dcmi)",
            "LD_LIBRARY_PATH lacks /usr/local/Ascend/driver/lib64, its driver and its common folder",
            "the driver is not installed on this host",
        ),
        tells_apart="ls /usr/local/Ascend/driver/lib64/driver /usr/local/dcmi; npu-smi info on the host",
        fix=f"start the container with the mounts that `hccl-kit container TABLE` prints; {_SET_ENV}",
    ),
    KnownError(
        "a library of CANN is not found",
        patterns=(
            r"\b(?P<file>lib(?:hccl|hcom|hccp|ascendcl|acl_|ascend_|ge_|opapi|nnopbase|atb)\w{0,40}\.so[.0-9]{0,10}):"
            r" cannot open shared object file",
        ),
        example="ImportError: libhccl.so: cannot open shared object file: No such file or directory",
        says=("it is {file}",),
        causes=(
            "set_env.sh of CANN was not sourced in this shell or container",
            "CANN is not installed here, or in another folder (libatb.so is in the package NNAL)",
        ),
        tells_apart="ls /usr/local/Ascend/ascend-toolkit/latest/lib64; echo $LD_LIBRARY_PATH",
        fix=_SET_ENV + "; for libatb.so: source /usr/local/Ascend/nnal/atb/set_env.sh",
    ),
    KnownError(
        "a library of Mooncake is not found",
        patterns=(
            r"\b(?P<file>(?:ascend_transport|libascend_transport|libmooncake|libtransfer_engine)\w{0,40}\.so[.0-9]"
            r"{0,10}): cannot open shared object file",
        ),
        example="ImportError: ascend_transport.so: cannot open shared object file: No such file or directory",
        says=("it is {file}",),
        causes=(
            "LD_LIBRARY_PATH lacks the folder that Mooncake was installed to, usually /usr/local/lib or"
            " /usr/local/lib64",
            "Mooncake was built without Ascend",
        ),
        tells_apart="find / -name 'ascend_transport*.so' 2>/dev/null; echo $LD_LIBRARY_PATH",
        fix="export LD_LIBRARY_PATH=/usr/local/lib:$LD_LIBRARY_PATH with the folder that find prints; else build"
        " Mooncake for Ascend",
    ),
    KnownError(
        "a library of CANN needs a function that the loaded libraries lack: two releases of CANN are mixed",
        patterns=(
            r"(?P<file>/[^\s:]{0,200}(?:[Aa]scend|/opp/|torch_npu|/cann)[^\s:]{0,200}\.so[.0-9]{0,10}): undefined"
            r" symbol: (?P<symbol>\w{1,160})",
        ),
        example="error = /opt/Ascend/cann-9/opp/built-in/libops_x.so: undefined symbol: _ZN2ge5ShapeEv",
        says=("{file} needs {symbol}",),
        causes=(
            "toolkit, kernels (ops) and NNAL are of different releases",
            "LD_LIBRARY_PATH, ASCEND_HOME_PATH or ASCEND_OPP_PATH name folders of two releases",
            "torch_npu was built for another CANN or torch",
        ),
        tells_apart=_CANN_VERSION,
        fix="install toolkit, ops and NNAL of one release, and source only its set_env.sh",
    ),
    KnownError(
        "CANN lacks a function that torch_npu calls",
        patterns=(r"Failed to find function (?P<function>(?:Hccl|hccl|Hcom|acl|rt)[A-Za-z]\w{2,80})",),
        example="RuntimeError: Failed to find function HcclCommSuspend",
        says=("the function is {function}",),
        causes=("CANN is older than torch_npu needs", "libraries of an older CANN come first in LD_LIBRARY_PATH"),
        tells_apart=_CANN_VERSION,
        fix="install the CANN that the release notes of your torch_npu name, and source only its set_env.sh",
    ),
    KnownError(
        "a program was built with another CANN than the one that is installed",
        patterns=(
            r"CANN version mismatch\. The build version is (?P<built>[\w.]{1,30}), but the current environment version"
            r" is (?P<here>[\w.]{1,30}[\w])",
            r"CANN version mismatch",
        ),
        example="[W utility.cc:57 Init] CANN version mismatch. The build version is 8.1.0, but the current"
        " environment version is 8.3.2.",
        says=("it was built with {built}; here is {here}",),
        causes=("the program, or its image, comes from a host with another CANN",),
        tells_apart="cat /usr/local/Ascend/ascend-toolkit/latest/version.cfg",
        fix="install the CANN of the build, or build the program with the CANN of this host",
    ),
    KnownError(
        "the addresses of the cards could not be read: neither /etc/hccn.conf nor hccn_tool has them",
        patterns=(r"Failed to get device ip from hccn\.conf and hccn_tool",),
        example="Failed to get device ip from hccn.conf and hccn_tool",
        causes=(
            "/etc/hccn.conf and hccn_tool are not mounted into the container",
            "the cards have no address: then the tool prints none on the host either",
        ),
        tells_apart="cat /etc/hccn.conf here and on the host; on the host: hccn_tool -i 0 -ip -g",
        fix="mount /etc/hccn.conf and /usr/local/Ascend/driver/tools/hccn_tool; if the cards have no address, set them"
        " on the host (hccn_tool -i N -ip -s address A netmask M)",
    ),
    KnownError(
        "MindIE could not listen on its address and port",
        patterns=(
            r"\[MIE04E02041C\](?:[^\n]{0,40}?Failed to listen (?P<ip>[0-9a-fA-F.:]{3,60}):(?P<port>[0-9]{1,5}))?",
            r"\[endpoint\] Failed to listen (?P<ip>[0-9a-fA-F.:]{3,60}):(?P<port>[0-9]{1,5})",
        ),
        example="[2026-02-03 04:05:06.007+08:00] [7] [ERROR] [http_server.cpp:1] : [MIE04E02041C] [endpoint] Failed"
        " to listen 10.9.8.7:1025, please check if business ip and port are legal.",
        says=("address {ip}, port {port}",),
        causes=(
            "the address (ipAddress of config.json) is not one of this container or host",
            "another process, such as another MindIE, has the port",
        ),
        tells_apart="ip -brief address; ss -ltnp | grep PORT",
        fix="set ipAddress (and managementIpAddress) to an address that `ip` prints, and free or change the port",
    ),
    KnownError(
        "the card has less free memory than vLLM was told to take: other processes hold the rest",
        patterns=(
            r"Free memory on device (?:\w{1,12}:[0-9]{1,3} )?\((?P<free>[0-9.]{1,10})/(?P<all>[0-9.]{1,10}) GiB\) on"
            r" startup is less than desired",
        ),
        example="ValueError: Free memory on device npu:3 (3.1/60.9 GiB) on startup is less than desired GPU memory"
        " utilization",
        in_output=True,
        says=("{free} of {all} GiB are free before vLLM has loaded anything",),
        causes=(
            "another process, also in another container, holds memory of the card, such as a vLLM that was not ended",
            "several processes share the card on purpose, and each asks for most of it",
        ),
        tells_apart=_PROCESSES,
        fix="end the other process, take another card, or lower --gpu-memory-utilization so that all fit",
    ),
    KnownError(
        "the sleep mode of vLLM does not work here: its allocator of the card's memory (camem) is not available",
        patterns=(r"camem allocator is not available",),
        in_output=True,
        example="AssertionError: camem allocator is not available",
        causes=(
            "vllm-ascend was built without its compiled module: COMPILE_CUSTOM_KERNELS was 0, or unset before 0.8",
            "that module does not load: CANN's libraries are not found, or are of another release",
            "PYTORCH_NPU_ALLOC_CONF=expandable_segments:True, which sleep mode does not support",
        ),
        tells_apart="python -c 'import vllm_ascend.vllm_ascend_C'; echo $PYTORCH_NPU_ALLOC_CONF",
        fix="build vllm-ascend with COMPILE_CUSTOM_KERNELS=1 after sourcing CANN's set_env.sh; export"
        " PYTORCH_NPU_ALLOC_CONF=expandable_segments:False; or start without enable_sleep_mode",
    ),
    KnownError(
        "fewer cards than ranks of vLLM on this host",
        patterns=(
            r"local_world_size \((?P<ranks>[0-9]{1,5})\) must be less than or equal to the number"
            r"(?: of visible devices \((?P<cards>[0-9]{1,5})\))?",
            r"Error setting ASCEND_RT_VISIBLE_DEVICES: local range: \[(?P<first>[0-9]{1,5}), ?(?P<end>[0-9]{1,5})\)"
            r" base value: \"(?P<mask>[0-9, ]{0,80})\"",
        ),
        example="AssertionError: local_world_size (4) must be less than or equal to the number of visible devices (2).",
        in_output=True,
        says=(
            "{ranks} ranks are to run on {cards} visible cards",
            "{ranks} ranks are to run here",
            "a data-parallel rank is to use places {first} up to, not including, {end} of {mask}",
        ),
        causes=(
            "the container was started without the cards, or with fewer (0 visible: none, or torch_npu does not load)",
            "ASCEND_RT_VISIBLE_DEVICES hides cards",
            "all data-parallel ranks are to run on this node: --data-parallel-size-local is not set",
        ),
        tells_apart="ls /dev/davinci*; npu-smi info; python -c 'import torch, torch_npu;"
        " print(torch.npu.device_count())'",
        fix="start the container with the devices that `hccl-kit container TABLE` prints, or lower"
        " --tensor-parallel-size; on several nodes set --data-parallel-size-local (cards / tensor-parallel size)",
    ),
    KnownError(
        "Ray knows no NPU on this node: it was started without the resource NPU",
        patterns=(
            r"Current node has no NPU available\. ?current_node_resource=\{[^}\n]{0,400}?'GPU': (?P<gpus>[0-9.]{1,8})",
            r"Current node has no NPU available",
        ),
        example="ValueError: Current node has no NPU available. current_node_resource={'CPU': 8.0, 'GPU': 4.0}. vLLM"
        " engine",
        says=("the node offers GPU: {gpus}, which vLLM-Ascend does not use",),
        causes=(
            "ray start was called with --num-gpus, or in a container without the cards",
            "torch_npu or the driver is missing where ray start ran, so that Ray did not detect the cards",
        ),
        tells_apart="ray status: its resources must list NPU; npu-smi info in the container of ray start",
        fix="""on every node: ray stop; ray start ... --resources '{"NPU": 8}' (the number of its cards)""",
    ),
    KnownError(
        "the processes could not connect to each other over the host network (gloo)",
        role="symptom",
        patterns=(r"Gloo connectFullMesh failed with (?P<reason>[^\n]{1,160})",),
        example="RuntimeError: Gloo connectFullMesh failed with [pair.cc:144] no error",
        says=("gloo reports: {reason}",),
        causes=(
            "the hosts publish addresses that others do not reach: the host name resolves to 127.0.1.1 or to an"
            " interface of its own",
            "a firewall closes the ports above 1024",
            "a process ended while the others connected",
        ),
        tells_apart="hostname -I; getent hosts $(hostname) on all hosts: it must not be a loopback address",
        fix="export GLOO_SOCKET_IFNAME=<interface> (and HCCL_SOCKET_IFNAME, TP_SOCKET_IFNAME) on all hosts, with the"
        " interface that they share",
    ),
    KnownError(
        "the process was not started by a launcher: a variable that torch.distributed needs is not set",
        patterns=(r"env:// rendezvous: environment variable (?P<variable_name>[A-Z_]{3,40}) expected, but not set",),
        example="ValueError: Error initializing torch.distributed using env:// rendezvous: environment variable"
        " WORLD_SIZE expected, but not set",
        says=("it is {variable_name}",),
        causes=(
            "the script was started with python instead of torchrun",
            "the launcher, or sudo, ssh or a container, does not pass the variable on",
        ),
        tells_apart="env | grep -E '^(RANK|WORLD_SIZE|LOCAL_RANK|MASTER_ADDR|MASTER_PORT)='",
        fix="start it with torchrun --nproc_per_node=CARDS SCRIPT, or set RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and"
        " MASTER_PORT for each process",
    ),
    KnownError(
        "a process asks torch for a device number that the visible devices do not have",
        patterns=(r"AssertionError: Invalid device id *$",),
        example="AssertionError: Invalid device id",
        causes=(
            "the list of visible cards is not 0,1,2...: the program uses numbers of the host, but visible cards are"
            " numbered from 0",
            "more processes than visible cards",
        ),
        tells_apart="echo $ASCEND_RT_VISIBLE_DEVICES; python -c 'import torch, torch_npu;"
        " print(torch.npu.device_count())'",
        fix="use numbers from 0 for the visible cards (LOCAL_RANK), and one process per card",
    ),
    KnownError(
        "Volcano finds no node for a pod: a label of the nodes is not what the job asks for",
        patterns=(
            r"check Node (?P<node>[\w.-]{1,80}) label \[(?P<label>[\w./-]{1,80})\] Failed, value is "
            r"(?P<have>[\w./-]{1,80})",
        ),
        example="volcano <checkNodeNPUByTask : check Node n7 label [accelerator-type] Failed, value is half>",
        in_output=True,
        says=("node {node} has {label}={have}",),
        causes=("the job has another value in its nodeSelector, or none, so that a default counts",),
        tells_apart="kubectl get nodes --show-labels | grep accelerator; the nodeSelector of the pod",
        fix="give the job the label of the node, or the node the one of its hardware, such as"
        " accelerator-type=module-910b-8",
    ),
    KnownError(
        "MindSpore got no role for this process: it was not started by mpirun or msrun",
        patterns=(
            r"Environment variables RANK_ID has not been exported",
            r"Role name '' is invalid\. Maybe you are trying to call 'mindspore\.communication\.init\(\)'",
            r"Maybe you are trying to call 'mindspore\.communication\.init\(\)' without using 'mpirun'",
        ),
        example="RuntimeError: Maybe you are trying to call 'mindspore.communication.init()' without using 'mpirun',"
        " which",
        causes=(
            "the script, or a notebook, calls init() but was started with python",
            "device_target is CPU: there, init() needs mpirun or msrun, and a rank table with RANK_ID does not do",
            "MS_ROLE, MS_WORKER_NUM, MS_SCHED_HOST and MS_SCHED_PORT do not reach the process",
            "with a rank table, RANK_ID or RANK_TABLE_FILE does not reach the process",
        ),
        tells_apart="env | grep '^MS_\\|RANK'",
        fix="start it with msrun --worker_num=8 --local_worker_num=8 SCRIPT (or mpirun); without several cards, do not"
        " call init(); hccl-kit launch TABLE --to msrun, or --to mpirun, writes the script, also for CPU",
    ),
    KnownError(
        "MindSpore's scheduler could not listen: its port (MS_SCHED_PORT) is in use, or its address is of another host",
        patterns=(
            r"Failed to call (?:bind|socket listen), url: (?P<ip>[0-9a-fA-F.:]{3,60}):(?P<port>[0-9]{1,5})\b",
            r"InitTCPServer\] Failed to init the tcp server",
        ),
        example="Failed to call bind, url: 10.9.8.7:8118 Address already in use",
        says=("address {ip}, port {port}",),
        causes=(
            "another scheduler of this host has the port: of an earlier job, or started by an operator of Kubernetes",
            "MS_ variables of another launcher are still set, so that a second scheduler starts",
        ),
        tells_apart="ss -ltnp | grep PORT; env | grep '^MS_'",
        fix="end the other scheduler, or unset the MS_ variables that another launcher has set, or take another"
        " MS_SCHED_PORT on all processes",
    ),
    KnownError(
        "MindSpore's scheduler gave this process no rank; the cluster may already have all its nodes",
        patterns=(r"This node could be redundant and is not successfully registered",),
        example="x PostProcess] This node could be redundant and is not successfully registered.",
        causes=(
            "more processes were started than MS_WORKER_NUM",
            "processes of an earlier job registered at the same scheduler",
        ),
        tells_apart="env | grep '^MS_'; ps -ef | grep python on all hosts",
        fix="end processes of earlier jobs, and start exactly MS_WORKER_NUM workers and one scheduler",
    ),
)
