"""Links and transfers between prefill and decode (HIXL, ADXL, Mooncake): memory that is registered, one-sided links."""

from __future__ import annotations

from hccl_kit.diagnosis.errors.row import in_stage, known

_STAGE = "links between prefill and decode"
_ONE_SIDED = (
    "the ends call more than the timeout apart (a few seconds): the other end was not ready, or is connected to"
    " another",
    "one end uses HCCS (192.x addresses), the other RoCE: HCCL_INTRA_ROCE_ENABLE must be equal at both",
    "TLS is on at one end and off at the other, or the card network does not connect the two",
)

ROWS = in_stage(
    _STAGE,
    known(r"""symptom
a one-sided link (prefill and decode) was not set up
line: (?:Prepare|Create links) failed\. ?commIdentifier ?\[(?P<ends>[^\]\n]{1,160})\]
line: \[ConnectByThread\] ?Connect failed\. ?userrank ?\[(?P<rank>[0-9]{1,8})\]
line: ConnectImplWithTimeout Prepare failed
line: Failed to connect, ?remote engine ?: ?(?P<peer>[^\s,]{3,80})
line: HcclCommPrepare[^\n]{0,200}\b(?:fail|error)
example: [Prepare] Prepare failed. commIdentifier[10.1.1.1:203_10.1.1.2:210]
says: between {ends}
says: this is rank {rank} of it
says: the other end is {peer}
apart: the first ERROR of both plogs at this second; grep -rh "Entry-HcclCommPrepare" */run/plog
fix: ASCEND_CONNECT_TIMEOUT for slow ends; HCCL_INTRA_ROCE_ENABLE and TLS equal at both ends
""")._replace(causes=_ONE_SIDED),
    known(r"""symptom
a transfer between prefill and decode failed: the code before the text says how
line: \bErrorNo: ?(?P<code>[15]039[0-9]{2})\(\)[^\n]{0,40}Failed to transfer sync, ?channel_id: ?(?P<peer>[^\s,]{3,80})
    (?:[^\n]{0,80}?operation: ?(?P<operation>\w{1,20}))?(?:[^\n]{0,80}?timeout: ?(?P<limit>[0-9]{1,9}) ?ms)?
line: Failed to invoke (?P<call>HcclBatch(?:Get|Put)), ?hccl_result ?= ?(?P<result>[0-9]{1,3})
example: [ERROR] GE(77,):2026-02-03-04:05:06.007.008 [engine.cc:1]78 TransferSync: ErrorNo: 103900() [GE][MODULE]Failed
    to transfer sync, channel_id:10.1.1.2:20000, operation:read, op_descs size:4, timeout:10000 ms.
says: {operation}, the other end is {peer}, within {limit} ms
says: the other end is {peer}
says: the code is {code}: 103900 a refused argument or a link, 103901 the timeout, 103902 not connected
says: {call} returned HcclResult {result}
cause: an error above it of the same process: a transfer that the AICPU did not start, or a link
cause: the other end ended, or is slower than the timeout (103901)
apart: the first ERROR of both plogs at this second
fix: correct what that line names; ASCEND_TRANSFER_TIMEOUT for slow ends
"""),
    known(r"""cause
a one-sided transfer could not be started on the card's own CPU (AICPU)
line: \[(?P<call>Batch(?:Get|Put))\] ?AICPU launch failed(?:, ?code: ?(?P<result>[0-9]{1,6}))?
example: x.cc:5,BatchPut, Error: ret=1 [BatchPut] AICPU launch failed, code: 3
says: the call is {call}, the result {result}
says: the call is {call}
cause: an address of the transfer is not registered, or its memory was freed
cause: the AICPU package is damaged or of another release: an error of it is above
apart: the first ERROR of both plogs at this second; ~/ascend/log/debug/device-N
fix: correct what that line names; 103900 and the failed transfer below it are consequences
"""),
    known(r"""cause in_output
the transfer engine of memfabric did not start
line: Ascend Transfer Engine initialization failed
line: \b(?:SMEM|mf_smem|MemFabric|memfabric)\b[^\n]{0,160}(?:init|connect|store)\w{0,12}[^\n]{0,60}\bfail
line: \bBM\b[^\n]{0,80}\bsmem_\w{1,40}[^\n]{0,60}\bfail
example: RuntimeError: Ascend Transfer Engine initialization failed.
cause: ASCEND_MF_STORE_URL (newer: MF_CONFIG_STORE_URL) is still a placeholder, such as tcp://PIP:PORT, or differs
    between the nodes
cause: the store, on the prefill host, has not started, or its port is closed or taken
apart: echo $ASCEND_MF_STORE_URL on all nodes; from each: nc -vz IP PORT
fix: export ASCEND_MF_STORE_URL=tcp://IP:PORT with the address of the prefill host, the same on all nodes
"""),
    known("""cause
memory could not be shared with other cards: its address is not aligned to 2 MB
line: Share memory create device error
line: Create_para_check fail
line: localbuffer init failed ?(?P<result>[0-9]{1,3})?
example: [ERROR] DRV(77,python3):2025-06-15-15:06:40.500.000 [svm.c:12] Share memory create device error, va=0x1200
cause: links over HCCS need memory that starts at a multiple of 2 MB
cause: the memory is not that of the card, or was freed
apart: the line of DRV above: va modulo 2097152 must be 0
fix: allocate huge pages only, or align the address to 2 MB and shorten the size by the offset
"""),
    known(r"""cause needs_context
memory could not be registered with the network port
line: ra reg global mr fail
line: \[reg\]\[ra_hdc_typical_mr\]
line: mr_reg[^\n]{0,80}\bfail
example: [ERROR] HCCL(77,python3):2025-06-15-15:06:40.500.000 [some_file.cc:12] [78][hrtRaRegGlobalMr]ra reg global mr
    fail. return[128102], params: size[1]
cause: the registered size is larger than what was allocated
cause: the kind of memory is not supported: host memory that was mapped from physical memory
apart: compare address and size of the line with the allocation
fix: register what was allocated; use memory of a supported kind
"""),
    known(r"""cause
the system memory of the card (not HBM) is used up: it holds page tables and queues of RoCE
line: ibv_cmd_create_cq failed, ?ret 12
line: create cq failed,? ?ret ?\[?-259
line: qp create failed,? ?ret ?\[?-259
example: ibv_cmd_create_cq failed, ret 12
cause: much host memory is registered in small pages (driver before 25.5.0: 4 KB each)
apart: no `halMemAlloc ... out of memory` near it: then it is not HBM
fix: use huge pages on the host (MC_STORE_USE_HUGEPAGE=1), register less memory, or update the driver
"""),
    known("""cause EI0014
two processes of one card have the same address and port in a table that the transfer engine writes
line: IP is used repeatedly
line: Ranktable_Check_Failed
example: Ranktable_Check_Failed(EI0014): The IP is used repeatedly.
cause: two processes use one card, such as a store and a client of Mooncake, and both listen on 16666
cause: an address occurs twice in the rank table
apart: npu-smi info: processes of the card; hccl-check FILE
fix: give each process its own port: ASCEND_GLOBAL_RESOURCE_CONFIG='{"comm_resource_config.listen_port":26666}'
variable: "IP" is repeate
"""),
    known("""cause
the memory of a transfer has another type than declared: it was not registered, or is not pinned
line: CheckMemCpyAttr
line: real memory type of (?:src|dst) is
line: (?:src|dst)'s real memory type is
example: [ERROR] RUNTIME(77,python3):2025-06-15-15:06:40.500.000 [api.cc:12] CheckMemCpyAttr: real memory type of src is
    2
cause: host memory without pin_memory=True
cause: memory that was not registered, or with another engine
apart: MC_LOG_LEVEL=INFO: lines `register mem addr` name what is registered
fix: pin host memory, and register all memory before it is transferred
"""),
    known("""cause
the other end has not registered the memory of this transfer
line: Can't find remoteBuffer by key
example: Can't find remoteBuffer by key 0x1200
cause: the memory was registered after the link was set up, or never
cause: it is host memory, which HCCS does not support: HCCL_INTRA_ROCE_ENABLE=1
apart: `Add local mem range` in the log of the other end
fix: register before linking; HCCL_INTRA_ROCE_ENABLE=1 at both ends for host memory
"""),
    known(r"""cause
memory of the other end could not be mapped: the ends may be in two super pods
line: halMemImport\w{0,40} ?fail
example: [ERROR] DRV(77,python3):2025-06-15-15:06:40.500.000 [svm.c:12] halMemImportFromShareableHandle fail, ret=8
cause: fabric memory does not work across super pods
apart: npu-smi info -t spod-info -i N -c 0 on both
fix: use servers of one super pod, or RoCE
"""),
    known("""pointer 507057
the far end is suspected: a remote card did not answer (suspect remote error)
line: suspect remote error
line: Suspect remote error
line: SUSPECT REMOTE ERROR
example: ACL error: suspect remote error, device 3
cause: the card or process at the other end failed first: see its log
cause: the fabric of the super pod (LingQu) is older than 1.5.0
cause: the link between the two
apart: the log of the other end; the version of the fabric on both
fix: correct the other end, update the fabric's software, then the link
"""),
    known(r"""cause
the SDID of a card (super_device_id) is missing: links over HCCS need it
line: invalid host device id 65535
line: get_vnic_ip_by_sdid fail[^\n]{0,40}?sdid ?: ?(?P<sdid>0x[0-9a-f]{1,8})
line: get vnic ip infos? fail
line: Host devid transform to local devid failed
example: [ERROR] HCCP(77,python3):2025-06-15-15:06:40.500.000 [ra.c:12] get_vnic_ip_by_sdid fail, sdid:0xffff
says: SDID {sdid}
cause: the rank table is not of version 1.2, or has no super_device_id
apart: npu-smi info -t spod-info -i N -c 0: it prints the SDID
fix: use a table of version 1.2 with super_device_id of every card
"""),
    known(r"""symptom
an address is empty, so no link can be set up to it
line: ip addr ?\[[0 :]{1,60}\] is invalid
example: [ERROR] HCCL(77,python3):2025-06-15-15:06:40.500.000 [some_file.cc:12] [78]ip addr[0] is invalid
cause: the card has no address, or its SDID is missing in the table
apart: hccn_tool -i N -ip -g; hccn_tool -i N -vnic -g
fix: set the address of the card, or write super_device_id into the table
"""),
    known(r"""cause needs_context
the processor of a card is stuck while much fabric memory is mapped
line: \bcpu stuck\b
example: npu 3: cpu stuck for 22 s
cause: CANN 9.0 needs a bound on fabric memory
apart: the release of CANN; fabric memory in the log of the transfer engine
fix: ASCEND_GLOBAL_RESOURCE_CONFIG='{"fabric_memory.max_capacity": "32"}'
"""),
)
