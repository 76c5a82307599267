"""What variables beside and of HCCL do, when to set them, and what they must agree with: the facts of `explain NAME`.

Which values HCCL accepts for its own is in `preflight/rules/variable_values`.
"""

from __future__ import annotations

from typing import NamedTuple


class VariablePage(NamedTuple):
    """`does` has no subject; the others are sentences. `source` has release and date."""

    does: str
    when: str
    agrees: str
    source: str


PAGES = {
    "ASCEND_RT_VISIBLE_DEVICES": VariablePage(
        "the cards that the process may use, as ascending numbers such as 4,5,6,7; it counts them from 0",
        "To start a process on some of the cards of a server or container, before Python starts; empty means no card."
        " What follows a blank or another character is ignored, so `4, 5` is `4`; numbers that do not ascend give"
        " EE2002, and torch_npu then counts 0 cards.",
        "In a container the numbers count its own cards. LOCAL_RANK of torch counts within the list; the rank table has"
        " the physical numbers of the same cards. hccn_tool and npu-smi ignore it.",
        "CANN's page of the variable and runtime.cc of the runtime, tags 8.5.0 (2026-01-23) to 9.1.0 (2026-07-28)",
    ),
    "ASCEND_VISIBLE_DEVICES": VariablePage(
        "the cards that Ascend Docker Runtime mounts into a container: the N of /dev/davinciN, as a list or a range",
        "On `docker run` with that runtime, and set by the device plugin of Kubernetes; without a value the container"
        " has no card.",
        "/dev/davinci* in the container, and ASCEND_RT_VISIBLE_DEVICES there, which counts the mounted cards from 0. Do"
        " not set it by hand where the device plugin does.",
        "Ascend Docker Runtime of mind-cluster, 2026-08-21",
    ),
    "ASCEND_NPU_PHY_ID": VariablePage(
        "the physical number of the card that SGLang puts into its Mooncake session name HOST:PORT:npu_N (default: -1,"
        " the number within the process)",
        "In a container or with ASCEND_RT_VISIBLE_DEVICES, with ENABLE_ASCEND_TRANSFER_WITH_MOONCAKE=true, since the"
        " number within the process is then another card's. One value cannot serve several cards of one process group.",
        "The N of /dev/davinciN of this process on its host, as the rank table has it.",
        "SGLang's page of variables for Ascend, 2026-08",
    ),
    "TASK_QUEUE_ENABLE": VariablePage(
        "how torch_npu hands operators to the card: 0 at once, 1 through a queue (default), 2 with the workspaces in"
        " the queue too",
        "0 (or ASCEND_LAUNCH_BLOCKING=1) to find the operator that an error belongs to; 2 for speed, at a higher"
        " peak of memory.",
        "ASCEND_LAUNCH_BLOCKING=1 makes it void.",
        "Ascend/pytorch, docs/zh/api/environment_variable, 2026-08-21",
    ),
    "PYTORCH_NPU_ALLOC_CONF": VariablePage(
        "options of torch_npu's memory pool as key:value,...: expandable_segments, max_split_size_mb,"
        " garbage_collection_threshold (0 to 1), page_size:1g and others",
        "When memory is lost to fragments: expandable_segments:True first. On A5 only that one and three pinned ones"
        " are taken.",
        "PYTORCH_ALLOC_CONF, which means the same from torch 2.10 on, must not be set too: the program then exits.",
        "Ascend/pytorch, docs/zh/api/environment_variable, 2026-08-21",
    ),
    "DEEPEP_HCCL_BUFFSIZE": VariablePage(
        "megabytes of the buffer of deep_ep's MoE communicator; it counts there instead of HCCL_BUFFSIZE (unset:"
        " HCCL_BUFFSIZE, else 200)",
        "When `HCCL_BUFFSIZE is too SMALL` is reported for dispatch or combine: set what NEEDED_HCCL_BUFFSIZE names.",
        "All ranks of the MoE group alike. The communicator takes twice as much of the card's memory.",
        "deep_ep of sgl-kernel-npu and SGLang's page of variables for Ascend, 2026-08",
    ),
    "ASCEND_MF_STORE_URL": VariablePage(
        "tcp://ADDRESS:PORT of memfabric's store, where prefill and decode nodes find each other",
        "For prefill and decode on Ascend with memfabric. The examples' tcp://PIP:PORT is a placeholder: write the"
        " address of the prefill host and a free port.",
        "Equal on all nodes of the pair, and reachable from them. From memfabric 1.2 on it is MF_CONFIG_STORE_URL;"
        " the old one is still read.",
        "memfabric 1.2 and SGLang's page of variables for Ascend, 2026-08",
    ),
    "ACL_DEVICE_SYNC_TIMEOUT": VariablePage(
        "seconds, 1 to 2147483, that a synchronisation of the whole card may take (unset: the limit of the card)",
        "When a synchronisation ends too early or hangs for too long.",
        "More than HCCL_EXEC_TIMEOUT, so that HCCL reports its own time-out first, with the rank that it waited for.",
        "Ascend/pytorch, docs/zh/api/environment_variable, 2026-08-21; that order is our advice",
    ),
    "ASCEND_TRANSFER_TIMEOUT": VariablePage(
        "milliseconds that HIXL waits for one transfer of a KV cache, often 10000; ASCEND_CONNECT_TIMEOUT is that of"
        " the connection",
        "When transfers end with a time-out although the link works. vllm-ascend sets it, if it is unset, to 4.096 us x"
        " 2^HCCL_RDMA_TIMEOUT x HCCL_RDMA_RETRY_CNT + 3 s (33064 with the defaults).",
        "Less than the lease of the KV pool (default_kv_lease_ttl, 11000), and more than the retries of RDMA take.",
        "vllm-ascend, 2026-08-22",
    ),
    "HCCL_INTER_HCCS_DISABLE": VariablePage(
        "TRUE: servers of one super pod use RoCE between them, not HCCS (A3 only, default FALSE)",
        "When the ports of HCCS collide between pods on shared servers, or HCCS between servers does not work.",
        "All ranks alike. With TRUE the cards need addresses (device_ip) and a RoCE network that works, and strict"
        " determinism is not possible.",
        "hccl, docs/zh/user_guide/hccl_env, 9.2.0-dev of 2026-08-22",
    ),
}
