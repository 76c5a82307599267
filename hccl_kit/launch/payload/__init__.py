"""Programs that launch scripts and manifests contain and run on other hosts: Python 3.8, standard library only."""
