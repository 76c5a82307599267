"""What machines are made of, masked, in one file; and how two such files, or the servers in one of them, differ."""
