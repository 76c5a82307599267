"""What MindSpore computes slowly on CPUs, computed faster there. This folder may be absent; `on_cpu` is its door.

It uses private interfaces of one version of MindSpore and of its oneDNN, see `version`. Each part takes a tenth of a
training step or more off, as `python -m benchmarks.cpu_parts` measures, or it goes.
"""
