"""Other hosts: the one place that starts ssh, and how a program of this package runs there."""
