"""Text detection and recognition with MindSpore.

Networks, losses, data, and the one loop that trains them on any number of ranks.
"""
