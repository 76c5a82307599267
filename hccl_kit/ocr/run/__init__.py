"""A program from its command line to its exit code: start, log, curves, interrupts."""
