"""What MindSpore computes slowly on CPUs, computed faster there. This folder may be absent; `on_cpu` is its door.

It uses private interfaces of one version of MindSpore and of its oneDNN, see `version`. A part that does not take a
tenth off a training step goes; `python -m benchmarks.cpu_parts` measures them.
"""
