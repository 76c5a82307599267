"""HCCL rank tables, launch scripts and distributed OCR training with MindSpore."""

__version__ = "0.1.0"
