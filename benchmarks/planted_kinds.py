"""All kinds of faults that are planted into made-up jobs. Each plants its culprit into an empty job."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from benchmarks import planted_operators as operators
from benchmarks import planted_programs as programs
from benchmarks import planted_starts as starts
from benchmarks.planted_effects import Planted
from benchmarks.plogs import Plogs

KINDS: tuple[Callable[[Plogs, Random], Planted], ...] = (
    starts.never_started,
    starts.exception_before_start,
    starts.late_start,
    starts.host_port_taken,
    starts.left_over_process,
    starts.card_port_taken,
    starts.killed_before_links,
    starts.hangs_before_links,
    starts.late_links,
    starts.unequal_tls,
    starts.network_broken,
    operators.arguments_differ,
    operators.hangs_in_training,
    operators.diverges,
    operators.behind,
    operators.pipeline_mismatch,
    operators.error_cqe,
    operators.link_flap,
    operators.other_release,
    programs.killed_in_training,
    programs.killed_for_memory,
    programs.exception_in_training,
    programs.server_lost,
    programs.dataloader,
    programs.nan,
    programs.disk_full,
    programs.segfault,
    programs.npu_memory,
    programs.hbm_ecc,
    programs.stuck_on_nfs,
    programs.two_faults,
    programs.evicted,
    programs.watchdog_only,
    programs.late_host,
    programs.wrong_interface,
)
