"""A training whose rank 1 takes SLOW times as long as normal, as on an overheated card.

A factor, because a step may take seconds on a busy machine, and at least LEAST seconds, because hccl-kit watch
evaluates windows of 2 s: on a fast machine the whole run would have fewer than the three that it requires.
"""

import os
import time
from itertools import count

from hccl_kit.ocr.programs.train import main
from hccl_kit.ocr.train.step import TrainStep

LEAST = 0.4

if os.environ["RANK"] == "1":
    compute, calls = TrainStep._compute, count()

    def slow(*arguments, **keywords):  # type: ignore[no-untyped-def]
        began = time.perf_counter()
        loss, gradients = compute(*arguments, **keywords)
        loss.asnumpy()  # waits for the computation
        if next(calls):  # the first call compiles
            time.sleep(max(LEAST, (float(os.environ["SLOW"]) - 1) * (time.perf_counter() - began)))
        return loss, gradients

    TrainStep._compute = slow  # type: ignore[method-assign]
main()
