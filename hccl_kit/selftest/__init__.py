"""The selftest of a job's servers: measure the fabric with the frameworks that are there, and name what is bad."""
