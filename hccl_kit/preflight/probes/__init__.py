"""What is read from this machine: the driver's tools, cards, ports, and which server of the table it is."""
