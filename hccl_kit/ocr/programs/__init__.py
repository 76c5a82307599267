"""The programs for training and inference: `hccl-kit train` and so on, also `python -m hccl_kit.ocr.programs.train`.

Each module is one program. It imports MindSpore, numpy and OpenCV only once its command line is known to be valid.
"""

from hccl_kit.base import ctrl_c  # noqa: F401  # first: Ctrl-C while the rest loads
