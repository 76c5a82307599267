"""How MindSpore, vLLM, MindIE and the transfer engines wrap the errors of HCCL, and what CANN prints below them."""

from __future__ import annotations

from hccl_kit.diagnosis.errors.pytorch import ABOVE
from hccl_kit.diagnosis.errors.row import KnownError, known

_LINK = (
    "the other end is not reachable: address, port, TLS, or the card network between prefill and decode",
    "the other end ended, or is not ready yet; the timeout is short (1 s by default)",
    "prefill and decode share a host and its ports: Mooncake takes 20000 and up, by 1000 (newer: 100) for each card",
)
_LINK_APART = (
    "the plog of both ends at this second: EI0006, EI0009 or a listen that failed; hccn_tool -i N -ping -g address PEER"
)
_LINK_FIX = (
    "correct what the plog names; ASCEND_CONNECT_TIMEOUT for slow ends; HCCL_INTRA_ROCE_ENABLE=1 on one A2"
    " host; the same TLS setting at both ends"
)

ROWS: tuple[KnownError, ...] = (
    known(r"""result vague
MindIE stops because its engine did not start; the log of its backend has the cause
line: \[MIE04E02011C\] \[endpoint\] Failed to (?P<part>init engine|start http wrapper)
example: [ERROR] [endpoint.cpp:4] : [MIE04E02011C] [endpoint] Failed to init engine! Please check
says: it failed to {part}
cause: an error of the backend: memory of the cards, a card that is in use, HCCL, or the model's files
apart: grep -rh ERROR ~/mindie/log | head; grep -rh ERROR ~/ascend/log/debug/plog | head
fix: run `hccl-kit explain` on the logs of the backend (MINDIE_LOG_PATH, by default ~/mindie/log)
"""),
    known(r"""frame needs_context
MindSpore could not set up the card or the communication; the blocks below it name the reason
line: Ascend collective communication initialization failed
line: Ascend kernel runtime initialization failed(?:, ?device id: ?(?P<device>[0-9]{1,6}))?
line: [Ii]nit (?:hccl|HCCL|communication|collective)[^\n]{0,60}failed
line: (?:Distributed|distributed) (?:communication|collective|module)?\w{0,20} ?init\w{0,10} failed
line: (?:hccl|hcom|HCCL) init failed
line: InitHccl
line: hccl_adapter
line: Ascend Error Message
line: Failed to init(?:ialize)? (?:collective|communication|hccl|HCCL)
example: RuntimeError: Ascend kernel runtime initialization failed, device id: 3. The details refer to
says: the card is {device}
cause: EJ0001: a process of an earlier job still holds the card
cause: 107001: the card number does not exist here
cause: EI0004 or EI0014: the rank table is refused
cause: the memory of the card is in use by others
apart: read the block `Ascend Error Message` below it; npu-smi info
fix: follow the code of that block
"""),
    known(r"""frame
an operator of MindSpore failed on the card, or did not finish; the block `Ascend Error Message` near it has the reason
line: Launch kernel failed: (?P<node>[\w/.-]{1,160}-op[0-9]{1,9})
line: Call (?:rt api|runtime) (?P<call>\w{1,60}) (?:failed|error)\b(?:\. Op name: (?P<node>[\w/.-]{1,160}))?
line: SyncStream failed, exception:
line: \] [Rr]un task error!
line: \] Kernel launch failed, msg:
line: Acl compile and execute failed, op_type ?: ?(?P<node>\w{1,80})
line: (?P<node>aclnn\w{1,60})GetWorkspaceSize call failed, please check
example: Launch kernel failed: Default/Reshape-op278
says: the operator is {node}
says: the call is {call}
cause: the codes of that block (EZ, E3, EE) name it
cause: `The pointer[stream] is null`: the card was not opened, since another process uses it
apart: the block `Ascend Error Message`; a line with `Dump node`; the first ERROR of the plog of this process
fix: run `hccl-kit explain` on the whole output
"""),
    known(r"""symptom
MindSpore's processes did not find each other: the scheduler or a worker is missing; HCCL has not started
line: MS_(?:SCHED|WORKER|ROLE)[^\n]{0,120}(?:[Tt]imed? ?out|exited|disconnected|failed)
line: meta server[^\n]{0,120}(?:[Tt]imed? ?out|exited|disconnected|failed)
line: Failed to build the cluster
line: cluster_context\.cc[^\n]{0,120}(?:[Tt]imed? ?out|failed)
line: DNS resolution failed: [^\n]{1,120}correct host name
line: Failed to (?:register|connect)[^\n]{0,60}(?:meta server|MS_SCHED)
line: Total number of timed[ -]out node
line: The total number of timed out node is (?P<count>[0-9]{1,6})
example: [ERROR] DISTRIBUTED(77,python3):2025-06-15-15:06:40.500.000 Failed to build the cluster: MS_WORKER_NUM is 8
says: {count} processes are missing
cause: a worker ended with its own error: see its worker_N.log
cause: MS_SCHED_HOST or MS_SCHED_PORT is not reachable, or differs
cause: fewer workers were started than MS_WORKER_NUM
apart: grep -l ERROR worker_*.log scheduler.log; the earliest one
fix: correct that worker; set MS_SCHED_HOST and MS_SCHED_PORT to the same values on all
"""),
    known(r"""cause in_output
the card got no batch of data in time (GetNext)
line: Dump node \((?P<node>[^()\n]{0,160}GetNext-op[0-9]{1,9})\) task error
line: GetNext error may be caused by slow data processing
line: might result `GetNext` timeout problem
line: Aicpu kernel execute failed[^\n]{0,160}fault (?:kernel|op)_name=(?P<node>\w{0,80}GetNext)
example: [ERROR] DEVICE(77,fffe,python):2023-11-20-15:34:32.887.652 [a.cc:770] DumpTaskExceptionInfo] Dump node
    (Default/GetNext-op18) task error input/output data to: ./rank_0/node_dump
says: the node is {node}
cause: reading or augmenting a batch takes more than 20 s: a slow disk, too few workers
cause: the dataset raised an error, or a worker of it was killed, above
cause: the sizes of the data do not fit the network
apart: run the dataset alone (create_dict_iterator) and time a batch; the first ERROR above
fix: more num_parallel_workers, data on a local disk, or less work for each sample
"""),
    known("""fact
vLLM only waits: its workers have not answered for a minute. It is not an error by itself
line: No available shared memory broadcast block found(?: in (?P<seconds>[0-9]{1,6}) seconds)?
example: (EngineCore_DP0 pid=7) INFO 12-12 No available shared memory broadcast block found in 60 seconds.
says: it waits {seconds} s at a time
cause: a worker compiles, captures a graph or loads weights
cause: a worker hangs in an operator of HCCL, or ended: the message then repeats until a timeout
apart: if it repeats for more than a few minutes: EI0002, EI0006, heartbeats in the plogs; py-spy dump
fix: wait, or follow the first error of a worker; VLLM_RINGBUFFER_WARNING_INTERVAL only silences it
"""),
    known(r"""frame
vLLM ends because one of its workers failed; the first error of that worker has the cause
line: Worker(?:Proc)? (?:hit an exception|initialization failed|failed with error)
line: EngineCore (?:encountered a fatal error|failed to start)
line: Engine core initialization failed
line: (?:Engine core|Worker) proc \S{1,40} died unexpectedly
line: Parent process exited, terminating worker
line: Engine process failed to start
line: EngineCore encountered an issue
line: AsyncLLM output_handler failed
line: \bWorker \w{1,40} pid (?P<pid>[0-9]{1,10}) died, exit code: (?P<exit>-?[0-9]{1,3})
example: (EngineCore pid=7) ERROR 12-12 EngineCore failed to start.
says: process {pid} ended with {exit}; -15 is the end by another process
cause: the first error of a worker, above: often a card out of memory, or an error of HCCL
apart: look upwards for the first line with ERROR of one worker
fix: run `hccl-kit explain` on that error
"""),
    known(r"""symptom
the transfer engine could not connect to the other end, or lost it
line: Failed to connect to (?:target|segment) ?: ?(?P<peer>[^\s,]{3,80}), ?status ?: ?(?P<status>[0-9]{6})
line: ascend_direct_transport[^\n]{0,40}Failed to connect to (?:target|segment) ?: ?(?P<peer>[^\s,]{3,80})
line: Connect timeout to ?: ?(?P<peer>[^\s,]{3,80})[^\n]{0,80}(?:ASCEND|timeout duration)
line: transfer failed and disconnect to ?: ?(?P<peer>[^\s,]{3,80})
line: Transfer slice failed with status ?: ?(?P<status>[0-9]{6})
line: Failed to (?:disconnect|initialize AdxlEngine|initialize Hixl)[^\n]{0,60}status ?: ?(?P<status>[0-9]{6})
line: Sync batch data transfer timeout after (?P<elapsed>[0-9]{1,15}) ?ns
line: error code is LLMStatusCode\.(?P<result>LLM_\w{1,40})
line: [Mm]ooncake transfer failed(?: for request (?P<request>[\w-]{1,80}))?
line: (?:HI|AD)XL\w{0,30}[^\n]{0,120}(?:connect|link)[^\n]{0,40}(?:fail|error|timeout)
line: (?:[Hh]i|[Aa]d)xl\w{0,30}[^\n]{0,120}(?:connect|link)[^\n]{0,40}(?:fail|error|timeout)
example: E1 5793 ascend_direct_transport.cpp:820] Failed to connect to target: 10.1.1.1:25482, status: 103900
says: the other end is {peer}
says: the status is {status}: 103900 refused argument or link, 103901 timeout, 103902 not connected, 503900 failed
says: the transfer had not ended after {elapsed} ns
says: the result is {result}
""")._replace(causes=_LINK, tells_apart=_LINK_APART, fix=_LINK_FIX),
    known(r"""frame
an operator of HCCL failed inside a graph; the code near it has the reason
line: call hccl op ?: ?(?P<operator>\w{1,60})[^\n]{0,80}load task fail
line: (?P<operator>Hcom\w{3,40}) ?\w{0,20}[^\n]{0,60}(?:load task|execute|run) fail
line: errNo ?\[0x0{4,12}50[01]0{0,6}[0-9a-fA-F]{1,3}\] ?hcclComm (?P<operator>\w{1,40}) error, ?tag ?\[(?P<tag>
    [^\]\n]{1,200})\]
example: [ERROR] GE(77,python3):2025-06-15-15:06:40.500.000 call hccl op:HcomAllReduce of graph 1 load task fail
says: the operator is {operator}
says: its tag is {tag}
cause: the code or the first error line above it has the reason
fix: run `hccl-kit explain` on that error
""")._replace(tells_apart=ABOVE),
    known(r"""frame vague
advice that CANN prints below an error; the lines above it describe the error
line: [Cc]heck the rank service processes with other errors or no errors
line: [Cc]heck other NPUs that are not reporting errors
line: [Cc]heck whether the peer process exits first
line: peer process exits (?:abnormally|unexpectedly) in advance
line: exception occurs during the execution on some NPU
line: execution speed on some NPU
line: number of training samples of each NPU
line: network between two devices is abnormal
line: insufficient NPU memory
line: Stop unnecessary processes and ensure the required memory
line: valid cluster configuration in the ranktable
line: after killing the last training process
line: Check the connectivity of the communication link between nodes
line: completion queue element \(CQE\) of the error
example: Solution: 1. Check the rank service processes with other errors or no errors in the cluster.
cause: it is printed with every error of that code, whatever the cause
apart: the line with the code (EI...) above it
fix: run `hccl-kit explain` on that line, or on the whole text
"""),
    known(r"""frame vague
the heading of CANN's stack trace; the line with a code above it, or a line below it, names the error
line: TraceBack \(most recent call last\)
example: TraceBack (most recent call last):
cause: it is printed with every error
apart: the line with the code (EI, EE, EL, EZ) above it
fix: run `hccl-kit explain` on that line, or on the whole text
"""),
    known(r"""cause in_output
a file of weights is not whole, or is no file of safetensors
line: \bSafetensorError: [^\n]{0,80}?\b(?P<reason>[A-Z]\w{8,60})
example: safetensors_rust.SafetensorError: Error while deserializing header: MetadataIncompleteBuffer
says: safetensors reports {reason}
cause: the download ended early, or the disk was full
cause: the file is a pointer of Git LFS, of about 130 bytes
apart: ls -l *.safetensors: the sizes against those of the source; head -c 100 FILE
fix: download the files with another size again, on every host that has its own copy
"""),
    known(r"""cause in_output
vLLM found no NPU: torch_npu, vllm-ascend or CANN did not load
line: RuntimeError: Failed to infer device type
example: RuntimeError: Failed to infer device type
cause: set_env.sh of CANN was not sourced, so that torch_npu cannot load libhccl.so
cause: vllm-ascend is not installed in this environment, or for another release of vLLM
apart: python -c 'import torch_npu, vllm_ascend; print(torch_npu.npu.is_available())'
fix: correct what that command reports; source set_env.sh of CANN and of NNAL
stage: start of a process
"""),
    known(r"""cause in_output
MindIE does not know the type of this model
line: NotImplementedError: unsupported model type: (?P<model>[\w.-]{1,80})
example: NotImplementedError: unsupported model type: falcon_mamba
says: the type is {model}
cause: this release of MindIE has no such model, or config.json names another type
apart: ls $ATB_SPEED_HOME_PATH/atb_llm/models; grep model_type config.json
fix: take a release of MindIE that has the model, or another engine
stage: start of a process
"""),
    known(r"""cause
a step of MindSpore's data pipeline failed
line: MindSpore dataset is terminated with err msg: (?:Exception thrown from dataset pipeline\. Refer to '
    Dataset Pipeline Error Message'\. )?(?P<reason>[^\n]{1,200})
example: [ERROR] MD(77,7f00,python):2026-11-30-02:24:23.734.793 [m/task_manager.cc:257] InterruptMaster] MindSpore
    dataset is terminated with err msg: Exception thrown from dataset pipeline. Refer to 'Dataset Pipeline Error
    Message'. map operation: [Decode] failed. [Internal ERROR] Decode: image decode failed.
says: {reason}
cause: a file of the data set is damaged, or has another format
cause: an operation of the pipeline got data of another shape or type
apart: the same sample in a loop over the data set alone, without training
fix: remove or repair the sample that the message names
"""),
)
