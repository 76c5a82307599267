"""The program that reads a run for another server, which asks over ssh: it prints what the ranks do, on one line.

python -m hccl_kit.watch.on_server RUN
"""

from __future__ import annotations

import sys
from pathlib import Path

from hccl_kit.remote.answering import answer_with
from hccl_kit.watch import run_folder
from hccl_kit.watch.json_form import as_json
from hccl_kit.watch.look import Folder

if __name__ == "__main__":
    answer_with(lambda: as_json(Folder(run_folder.find(Path(sys.argv[1]))).look()))
