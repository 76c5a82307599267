"""Other hosts: the one place that starts ssh, and how a program of this package runs there.

ssh       the words of an ssh command
program   a program that goes over the connection: nothing is installed there, and nothing is left behind
"""
