"""The frameworks whose programs the launchers start."""

MINDSPORE = "mindspore"
PYTORCH = "pytorch"
FRAMEWORKS = (MINDSPORE, PYTORCH)
"""None stands for one that is not known: it gets what MindSpore gets."""
