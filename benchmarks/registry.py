"""The benchmarks that `python -m benchmarks` runs, and the programs that it only lists."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

EXTRA = "pip install '.[all,dev,bench]' has it"


@dataclass(frozen=True)
class Benchmark:
    """A benchmark; its module has `rows(*, full: bool)`, an iterator of `row.Row`.

    `needs` are the packages that it and its peer cannot do without. `seconds` is the time limit with --full; without
    --full it is half of that.
    """

    name: str
    about: str
    peer: str
    needs: tuple[str, ...] = ()
    seconds: int = 2400
    module: str = ""

    @property
    def program(self) -> str:
        """The name of its module."""
        return self.module or f"benchmarks.{self.name}"


BENCHMARKS: tuple[Benchmark, ...] = (
    Benchmark("startup", "start of the programs", "a bare interpreter"),
    Benchmark("table_programs", "programs on large tables", "json.load and json.dump", seconds=3600),
    Benchmark("rank_tables", "writing and checking in one process", "json.dumps, jsonschema", ("jsonschema",)),
    Benchmark("diagnose", "reading logs", "grep -c"),
    Benchmark("detection_pipeline", "preparing pages", "a plain implementation", ("cv2", "shapely", "PIL")),
    Benchmark("train_step", "training step of crnn_small", "PyTorch", ("mindspore", "torch"), seconds=3600),
    Benchmark("time_to_accuracy", "crnn_small from scratch to 95 %", "PyTorch", ("mindspore", "torch"), seconds=3600),
    Benchmark("crnn_vgg7", "training step of CRNN VGG7", "PyTorch", ("mindspore", "torch"), seconds=3600),
    Benchmark("detection_step", "training step of DBNet", "PyTorch", ("mindspore", "torch"), seconds=3600),
    Benchmark("first_step", "command to the end of the first step", "import mindspore", ("mindspore",)),
    Benchmark("read_pages", "reading pages", "rapidocr", ("mindspore", "rapidocr", "onnxruntime"), seconds=2400),
    Benchmark(
        "read_lines", "reading lines", "onnxruntime", ("mindspore", "rapidocr", "onnxruntime", "onnx"), seconds=2400
    ),
    Benchmark("launchers", "starting and ending a job", "msrun, torchrun", ("mindspore",), seconds=3600),
)
SEPARATE: Mapping[str, str] = {
    "planted_faults": "verdicts on made-up logs with known causes",
    "real_faults": "verdicts on jobs that were broken on purpose",
    "cpu_parts": "training steps without each part of ocr/cpu: what does not earn a tenth goes",
    "killed_processes": "jobs of which a random process is killed or stopped: what is left, who is named",
    "killed_hosts": "jobs on hosts of which a process is killed or a cable is pulled: what is left, who is named",
    "spare_hosts": "jobs that lose a server and go on with a spare: ranks, parameters, time to go on",
    "selftest_hosts": "names of harmed servers by `hccl-kit selftest`, and false ones on healthy servers",
    "selftest_warm": "the same for runs that lose nobody, with ranks that are started once for many runs",
    "link_scale": "the starter of a job of 1,000 servers: time, memory, descriptors",
    "card_pings": "preflight --cards of 64 servers with 8 cards: planted faults, rounds, time, load",
    "preflight_scale": "preflight of 1,000 servers: time, memory",
    "compare_scale": "compare of the snapshots of 1,000 servers: time, memory",
    "explain_lines": "lines of a corpus that `hccl-kit explain` knows; takes the corpus",
    "hccl_verdicts": "verdicts on tables against those of HCCL's parser; takes the tables",
}
"""Programs with results of another kind, such as shares of verdicts."""
