"""The variables that switch on the flight recorders of torch_npu and torch, with their reasons.

Sources: torch_npu's reference of environment variables (Ascend/pytorch, docs/zh/environment_variable_reference:
TORCH_HCCL_TRACE_BUFFER_SIZE and the others, each with its counterpart in PyTorch), its ProcessGroupHCCL.cpp, and
PyTorch's "ProcessGroupNCCL Environment Variables". In torch_npu all of it is off by default. Its dump is written by the
monitor thread, which TORCH_HCCL_ENABLE_MONITORING starts; without it there is no dump, whatever else is set. PyTorch
records and dumps by default, but into ~/.cache/torch. The status files of torch_npu and the pipes for dumps of running
ranks stay off: a program whose disk is full, or has no pipes, ends with an error of its process group.
"""

from __future__ import annotations

from collections.abc import Mapping

from hccl_kit.agent.assignment import Default

SIZE = "2000"
"""Collectives in the ring; PyTorch's own default, about 1 MB of JSON."""
RECORDERS: Mapping[Default, str] = {
    Default(
        "TORCH_HCCL_TRACE_BUFFER_SIZE", SIZE
    ): "collectives that torch_npu's flight recorder keeps; by default it is off",
    Default(
        "TORCH_HCCL_ENABLE_MONITORING", "1", ("HCCL_ENABLE_MONITORING", "TORCH_HCCL_TRACE_BUFFER_SIZE")
    ): "starts the thread of torch_npu that writes the dump; it also ends a process whose watchdog has stood still for"
    " 600 s (TORCH_HCCL_HEARTBEAT_TIMEOUT_SEC)",
    Default("TORCH_HCCL_DUMP_ON_TIMEOUT", "1"): "torch_npu dumps on all ranks after a timeout or an error",
    Default(
        "TORCH_HCCL_DEBUG_INFO_TEMP_FILE", "./hccl_trace_rank_", in_logs=True
    ): "where torch_npu's dumps go; the rank is added",
    Default(
        "TORCH_FR_BUFFER_SIZE", SIZE, ("TORCH_NCCL_TRACE_BUFFER_SIZE",)
    ): "collectives that torch's flight recorder keeps, for gloo and NCCL",
    Default(
        "TORCH_NCCL_DUMP_ON_TIMEOUT", "1", ("TORCH_FR_DUMP_ON_TIMEOUT",)
    ): "torch dumps after a timeout of NCCL; TORCH_FR_DUMP_ON_TIMEOUT from torch 2.15 on",
    Default(
        "TORCH_FR_DUMP_TEMP_FILE", "./torch_trace_rank_", ("TORCH_NCCL_DEBUG_INFO_TEMP_FILE",), in_logs=True
    ): "where torch's dumps go; the rank is added",
    Default(
        "TORCH_HCCL_STATUS_SAVE_PATH", "./", in_logs=True
    ): "where TORCH_HCCL_STATUS_SAVE_ENABLE=1, if you set it, writes what `hccl-kit watch` shows",
}
"""Each variable, and why it has this value; it is left alone if an older name of it is set, or what decides it."""
