"""Programs that the launch scripts carry and run on other hosts: Python 3.8, standard library only."""
