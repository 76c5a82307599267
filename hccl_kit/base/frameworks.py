"""The frameworks whose programs the launchers start."""

PYTORCH = "pytorch"
FRAMEWORKS = ("mindspore", PYTORCH)
"""None stands for one that the user has not named: it gets what MindSpore gets."""
