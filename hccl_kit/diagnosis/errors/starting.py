"""What stops a process before HCCL starts: libraries, releases of CANN, ports of a service, Ray, MindSpore's roles."""

from __future__ import annotations

from hccl_kit.diagnosis.errors.row import in_stage, known

_SET_ENV = "source /usr/local/Ascend/ascend-toolkit/set_env.sh in the shell, or the image, that starts the program"
_CANN_VERSION = (
    "cat /usr/local/Ascend/ascend-toolkit/latest/version.cfg; pip list | grep -i torch; echo $LD_LIBRARY_PATH"
)
_PROCESSES = "npu-smi info on the host: processes and memory of each card"

ROWS = in_stage(
    "start of a process",
    known(r"""cause in_output
a library of the driver is not found
line: \b(?P<file>lib(?:ascend_hal|drvdsmi|dcmi|dsmi)\w{0,30}\.so[.0-9]{0,10}): cannot open shared object file
line: \bDCMIError_LibraryNotFound\b
line: \bDCMI_ERROR_LIBRARY_NOT_FOUND\b
example: ImportError: libascend_hal.so: cannot open shared object file: No such file or directory
says: it is {file}
cause: the container lacks the driver's folder (/usr/local/Ascend/driver) or its libdcmi.so (/usr/local/dcmi)
cause: LD_LIBRARY_PATH lacks /usr/local/Ascend/driver/lib64, its driver and its common folder
cause: the driver is not installed on this host
apart: ls /usr/local/Ascend/driver/lib64/driver /usr/local/dcmi; npu-smi info on the host
""")._replace(fix=f"start the container with the mounts that `hccl-kit container TABLE` prints; {_SET_ENV}"),
    known(r"""cause in_output
a library of CANN is not found
line: \b(?P<file>lib(?:hccl|hcom|hccp|ascendcl|acl_|ascend_|ge_|opapi|nnopbase|atb)\w{0,40}\.so
    [.0-9]{0,10}): cannot open shared object file
example: ImportError: libhccl.so: cannot open shared object file: No such file or directory
says: it is {file}
cause: set_env.sh of CANN was not sourced in this shell or container
cause: CANN is not installed here, or in another folder (libatb.so is in the package NNAL)
apart: ls /usr/local/Ascend/ascend-toolkit/latest/lib64; echo $LD_LIBRARY_PATH
""")._replace(fix=_SET_ENV + "; for libatb.so: source /usr/local/Ascend/nnal/atb/set_env.sh"),
    known(r"""cause
a library of Mooncake is not found
line: \b(?P<file>(?:ascend_transport|libascend_transport|libmooncake|libtransfer_engine)\w{0,40}\.so
    [.0-9]{0,10}): cannot open shared object file
example: ImportError: ascend_transport.so: cannot open shared object file: No such file or directory
says: it is {file}
cause: LD_LIBRARY_PATH lacks the folder that Mooncake was installed to, usually /usr/local/lib or /usr/local/lib64
cause: Mooncake was built without Ascend
apart: find / -name 'ascend_transport*.so' 2>/dev/null; echo $LD_LIBRARY_PATH
fix: export LD_LIBRARY_PATH=/usr/local/lib:$LD_LIBRARY_PATH with the folder that find prints; else build Mooncake for
    Ascend
"""),
    known(r"""cause
a library of CANN needs a function that the loaded libraries lack: two releases of CANN are mixed
line: (?P<file>/[^\s:]{0,200}(?:[Aa]scend|/opp/|torch_npu|/cann)[^\s:]{0,200}\.so
    [.0-9]{0,10}): undefined symbol: (?P<symbol>\w{1,160})
example: error = /opt/Ascend/cann-9/opp/built-in/libops_x.so: undefined symbol: _ZN2ge5ShapeEv
says: {file} needs {symbol}
cause: toolkit, kernels (ops) and NNAL are of different releases
cause: LD_LIBRARY_PATH, ASCEND_HOME_PATH or ASCEND_OPP_PATH name folders of two releases
cause: torch_npu was built for another CANN or torch
fix: install toolkit, ops and NNAL of one release, and source only its set_env.sh
""")._replace(tells_apart=_CANN_VERSION),
    known(r"""cause
a library cannot be loaded so late: the memory for variables of threads (static TLS) is used up, often on aarch64
line: (?P<file>/[^\s:]{1,200}\.so[.0-9]{0,12}): cannot allocate memory in static TLS block
example: ImportError: /env/scikit_learn.libs/libgomp-d22c30c5.so.1.0.0: cannot allocate memory in static TLS block
says: it is {file}
cause: libraries that were loaded before took it; libgomp of scikit-learn or torch is the usual one that fails
apart: the imports above this one in the traceback
fix: export LD_PRELOAD with that file, or import its package before the others
"""),
    known(r"""cause
CANN lacks a function that torch_npu calls
line: (?<!Warning: )(?<!Warning: 0)Failed to find function (?P<function>(?:Hccl|hccl|Hcom|acl|rt)[A-Za-z]\w{2,80})
example: RuntimeError: Failed to find function HcclCommSuspend
says: the function is {function}
cause: CANN is older than torch_npu needs
cause: libraries of an older CANN come first in LD_LIBRARY_PATH
fix: install the CANN that the release notes of your torch_npu name, and source only its set_env.sh
""")._replace(tells_apart=_CANN_VERSION),
    known(r"""cause
a program was built with another CANN than the one that is installed
line: CANN version mismatch\. The build version is (?P<built>[\w.]{1,30}), but the current environment version is (?P<he
    re>[\w.]{1,30}[\w])
line: CANN version mismatch
example: [W utility.cc:57 Init] CANN version mismatch. The build version is 8.1.0, but the current environment version
    is 8.3.2.
says: it was built with {built}; here is {here}
cause: the program, or its image, comes from a host with another CANN
apart: cat /usr/local/Ascend/ascend-toolkit/latest/version.cfg
fix: install the CANN of the build, or build the program with the CANN of this host
"""),
    known(r"""cause
the addresses of the cards could not be read: neither /etc/hccn.conf nor hccn_tool has them
line: Failed to get device ip from hccn\.conf and hccn_tool
example: Failed to get device ip from hccn.conf and hccn_tool
cause: /etc/hccn.conf and hccn_tool are not mounted into the container
cause: the cards have no address: then the tool prints none on the host either
apart: cat /etc/hccn.conf here and on the host; on the host: hccn_tool -i 0 -ip -g
fix: mount /etc/hccn.conf and /usr/local/Ascend/driver/tools/hccn_tool; if the cards have no address, set them on the
    host (hccn_tool -i N -ip -s address A netmask M)
"""),
    known(r"""cause
MindIE could not listen on its address and port
line: \[MIE04E02041C\](?:[^\n]{0,40}?Failed to listen (?P<ip>[0-9a-fA-F.:]{3,60}):(?P<port>[0-9]{1,5}))?
line: \[endpoint\] Failed to listen (?P<ip>[0-9a-fA-F.:]{3,60}):(?P<port>[0-9]{1,5})
example: [2026-02-03 04:05:06.007+08:00] [7] [ERROR] [http_server.cpp:1] : [MIE04E02041C] [endpoint] Failed to listen
    10.9.8.7:1025, please check if business ip and port are legal.
says: address {ip}, port {port}
cause: the address (ipAddress of config.json) is not one of this container or host
cause: another process, such as another MindIE, has the port
apart: ip -brief address; ss -ltnp | grep PORT
fix: set ipAddress (and managementIpAddress) to an address that `ip` prints, and free or change the port
"""),
    known(r"""cause in_output
the card has less free memory than vLLM was told to take: other processes hold the rest
line: Free memory on device (?:\w{1,12}:[0-9]{1,3} )?\((?P<free>[0-9.]{1,10})/(?P<all>
    [0-9.]{1,10}) GiB\) on startup is less than desired
example: ValueError: Free memory on device npu:3 (3.1/60.9 GiB) on startup is less than desired GPU memory utilization
says: {free} of {all} GiB are free before vLLM has loaded anything
cause: another process, also in another container, holds memory of the card, such as a vLLM that was not ended
cause: several processes share the card on purpose, and each asks for most of it
fix: end the other process, take another card, or lower --gpu-memory-utilization so that all fit
""")._replace(tells_apart=_PROCESSES),
    known("""cause in_output
the sleep mode of vLLM does not work here: its allocator of the card's memory (camem) is not available
line: camem allocator is not available
example: AssertionError: camem allocator is not available
cause: vllm-ascend was built without its compiled module: COMPILE_CUSTOM_KERNELS was 0, or unset before 0.8
cause: that module does not load: CANN's libraries are not found, or are of another release
cause: PYTORCH_NPU_ALLOC_CONF=expandable_segments:True, which sleep mode does not support
apart: python -c 'import vllm_ascend.vllm_ascend_C'; echo $PYTORCH_NPU_ALLOC_CONF
fix: build vllm-ascend with COMPILE_CUSTOM_KERNELS=1 after sourcing CANN's set_env.sh; export
    PYTORCH_NPU_ALLOC_CONF=expandable_segments:False; or start without enable_sleep_mode
"""),
    known(r"""cause
vllm-ascend is not complete: its compiled module, or a part of its package, is missing
line: '_OpNamespace' '_C_ascend' object has no attribute '(?P<part>\w{1,60})'
line: No module named '(?P<part>vllm_ascend\.\w{1,60})'
example: ModuleNotFoundError: No module named 'vllm_ascend.vllm_ascend_C'
says: it lacks {part}
cause: its compiled module was not built: COMPILE_CUSTOM_KERNELS was 0, or the compiler failed during the installation
cause: Python runs in the folder of its sources, or an older release of it is installed
cause: vllm and vllm-ascend are of different releases
apart: cd / && python -c 'import vllm_ascend.vllm_ascend_C'; pip list | grep -i vllm
fix: install the release of vllm-ascend that belongs to vllm, after sourcing CANN's set_env.sh, and start it from
    another folder
"""),
    known(r"""cause in_output
the model leaves no memory of the card for the KV cache of vLLM
line: No available memory for the cache blocks
line: Available KV cache memory: (?P<left>-[0-9.]{1,12} GiB)
line: (?P<needed>[0-9.]{1,12} GiB) KV cache is needed, which is larger than the available KV cache memory \((?P<left>
    [0-9.]{1,12} GiB)\)
example: ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization`
says: {needed} are needed, {left} are left
says: {left} are left
cause: the weights, and what a step needs, take all of the share that --gpu-memory-utilization gives
cause: another process holds memory of the card
apart: npu-smi info before the start: memory and processes of the card; `Loading model weights took` above it
fix: raise --gpu-memory-utilization if the card is free, lower --max-model-len or --max-num-seqs, take more cards
    (--tensor-parallel-size), or a quantised model
"""),
    known(r"""cause in_output
fewer cards than ranks of vLLM on this host
line: local_world_size \((?P<ranks>[0-9]{1,5})\) must be less than or equal to the number
    (?: of visible devices \((?P<cards>[0-9]{1,5})\))?
line: Error setting ASCEND_RT_VISIBLE_DEVICES: local range: \[(?P<first>[0-9]{1,5}), ?(?P<end>
    [0-9]{1,5})\) base value: \"(?P<mask>[0-9, ]{0,80})\"
example: AssertionError: local_world_size (4) must be less than or equal to the number of visible devices (2).
says: {ranks} ranks are to run on {cards} visible cards
says: {ranks} ranks are to run here
says: a data-parallel rank is to use places {first} up to, not including, {end} of {mask}
cause: the container was started without the cards, or with fewer (0 visible: none, or torch_npu does not load)
cause: ASCEND_RT_VISIBLE_DEVICES hides cards
cause: all data-parallel ranks are to run on this node: --data-parallel-size-local is not set
apart: ls /dev/davinci*; npu-smi info; python -c 'import torch, torch_npu; print(torch.npu.device_count())'
fix: start the container with the devices that `hccl-kit container TABLE` prints, or lower --tensor-parallel-size; on
    several nodes set --data-parallel-size-local (cards / tensor-parallel size)
"""),
    known(r"""cause
Ray knows no NPU on this node: it was started without the resource NPU
line: Current node has no NPU available\. ?current_node_resource=\{[^}\n]{0,400}?'GPU': (?P<gpus>[0-9.]{1,8})
line: Current node has no NPU available
example: ValueError: Current node has no NPU available. current_node_resource={'CPU': 8.0, 'GPU': 4.0}. vLLM engine
says: the node offers GPU: {gpus}, which vLLM-Ascend does not use
cause: ray start was called with --num-gpus, or in a container without the cards
cause: torch_npu or the driver is missing where ray start ran, so that Ray did not detect the cards
apart: ray status: its resources must list NPU; npu-smi info in the container of ray start
fix: on every node: ray stop; ray start ... --resources '{"NPU": 8}' (the number of its cards)
"""),
    known(r"""cause
gloo took the loopback address, which other hosts cannot reach
line: Unable to resolve hostname to a \(local\) address\. Using the loopback address
line: \bSO_ERROR: [^\n]{1,60}, remote=\[(?P<address>127\.[0-9.]{5,11}|::1)\]
example: Unable to resolve hostname to a (local) address. Using the loopback address as fallback. Manually set the
    network interface to bind to with GLOO_SOCKET_IFNAME.
says: it connected to {address}
cause: the name of the host is not in /etc/hosts or DNS, or is there with 127.0.1.1
apart: getent hosts $(hostname); hostname -I
fix: export GLOO_SOCKET_IFNAME=<interface> (and HCCL_SOCKET_IFNAME, TP_SOCKET_IFNAME) on all hosts, with the interface
    that they share
"""),
    known(r"""symptom
the processes could not connect to each other over the host network (gloo)
line: Gloo connectFullMesh failed with (?P<reason>[^\n]{1,160})
line: Gloo connectFullMesh failed
example: RuntimeError: Gloo connectFullMesh failed with [pair.cc:144] no error
says: gloo reports: {reason}
cause: the hosts publish addresses that others do not reach: the host name resolves to 127.0.1.1 or to an interface of
    its own
cause: a firewall closes the ports above 1024
cause: a process ended while the others connected
apart: hostname -I; getent hosts $(hostname) on all hosts: it must not be a loopback address
fix: export GLOO_SOCKET_IFNAME=<interface> (and HCCL_SOCKET_IFNAME, TP_SOCKET_IFNAME) on all hosts, with the interface
    that they share
"""),
    known("""cause
the process was not started by a launcher: a variable that torch.distributed needs is not set
line: env:// rendezvous: environment variable (?P<variable_name>[A-Z_]{3,40}) expected, but not set
example: ValueError: Error initializing torch.distributed using env:// rendezvous: environment variable WORLD_SIZE
    expected, but not set
says: it is {variable_name}
cause: the script was started with python instead of torchrun
cause: the launcher, or sudo, ssh or a container, does not pass the variable on
apart: env | grep -E '^(RANK|WORLD_SIZE|LOCAL_RANK|MASTER_ADDR|MASTER_PORT)='
fix: start it with torchrun --nproc_per_node=CARDS SCRIPT, or set RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and
    MASTER_PORT for each process
"""),
    known("""cause
a process asks torch for a device number that the visible devices do not have
line: AssertionError: Invalid device id *$
example: AssertionError: Invalid device id
cause: the list of visible cards is not 0,1,2...: the program uses numbers of the host, but visible cards are numbered
    from 0
cause: more processes than visible cards
apart: echo $ASCEND_RT_VISIBLE_DEVICES; python -c 'import torch, torch_npu; print(torch.npu.device_count())'
fix: use numbers from 0 for the visible cards (LOCAL_RANK), and one process per card
"""),
    known(r"""cause in_output
Volcano finds no node for a pod: a label of the nodes is not what the job asks for
line: check Node (?P<node>[\w.-]{1,80}) label \[(?P<label>[\w./-]{1,80})\] Failed, value is (?P<have>[\w./-]{1,80})
example: volcano <checkNodeNPUByTask : check Node n7 label [accelerator-type] Failed, value is half>
says: node {node} has {label}={have}
cause: the job has another value in its nodeSelector, or none, so that a default counts
apart: kubectl get nodes --show-labels | grep accelerator; the nodeSelector of the pod
fix: give the job the label of the node, or the node the one of its hardware, such as accelerator-type=module-910b-8
"""),
    known(r"""cause
MindSpore got no role for this process: it was not started by mpirun or msrun
line: Environment variables RANK_ID has not been exported
line: Role name '' is invalid\. Maybe you are trying to call 'mindspore\.communication\.init\(\)'
line: Maybe you are trying to call 'mindspore\.communication\.init\(\)' without using 'mpirun'
example: RuntimeError: Maybe you are trying to call 'mindspore.communication.init()' without using 'mpirun', which
cause: the script, or a notebook, calls init() but was started with python
cause: device_target is CPU: there, init() needs mpirun or msrun, and a rank table with RANK_ID does not do
cause: MS_ROLE, MS_WORKER_NUM, MS_SCHED_HOST and MS_SCHED_PORT do not reach the process
cause: with a rank table, RANK_ID or RANK_TABLE_FILE does not reach the process
apart: env | grep '^MS_\|RANK'
fix: start it with msrun --worker_num=8 --local_worker_num=8 SCRIPT (or mpirun); without several cards, do not call
    init(); hccl-kit launch TABLE --to msrun, or --to mpirun, writes the script, also for CPU
"""),
    known(r"""cause
MindSpore's scheduler could not listen: its port (MS_SCHED_PORT) is in use, or its address is of another host
line: Failed to call (?:bind|socket listen), url: (?P<ip>[0-9a-fA-F.:]{3,60}):(?P<port>[0-9]{1,5})\b
line: InitTCPServer\] Failed to init the tcp server
example: Failed to call bind, url: 10.9.8.7:8118 Address already in use
says: address {ip}, port {port}
cause: another scheduler of this host has the port: of an earlier job, or started by an operator of Kubernetes
cause: MS_ variables of another launcher are still set, so that a second scheduler starts
apart: ss -ltnp | grep PORT; env | grep '^MS_'
fix: end the other scheduler, or unset the MS_ variables that another launcher has set, or take another MS_SCHED_PORT on
    all processes
"""),
    known(r"""cause
MindSpore's scheduler gave this process no rank; the cluster may already have all its nodes
line: This node could be redundant and is not successfully registered
line: Rejecting registration request for node (?P<node>\S{1,60}) from host (?P<host>[\w.:%-]{1,60})\. Rejection reason:
     (?P<reason>[^\n]{1,160})
example: x PostProcess] This node could be redundant and is not successfully registered.
says: process {node} on {host}: {reason}
cause: more processes were started than MS_WORKER_NUM
cause: processes of an earlier job registered at the same scheduler
apart: env | grep '^MS_'; ps -ef | grep python on all hosts
fix: end processes of earlier jobs, and start exactly MS_WORKER_NUM workers and one scheduler
"""),
)
