"""What is read of this machine: tools, cards, ports and its place in the table."""
