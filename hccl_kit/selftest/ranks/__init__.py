"""What runs on every rank of a selftest. The only modules of this folder's parent that load a framework."""
