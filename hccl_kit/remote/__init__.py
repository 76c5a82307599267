"""Other hosts: the one place that starts ssh, and how a program of this package runs there.

ssh         the words of an ssh command
program     a program that goes over the connection: nothing is installed there, and nothing is left behind
asking      a command that many hosts run at once, and what each prints, within limits
probe       a program that many hosts run at once, and what each answers
answering   the end of such a program
"""
