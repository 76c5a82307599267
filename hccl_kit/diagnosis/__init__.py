"""The meaning of an error text or log: the catalogue of all rules, HCCL's errors, and the lookup."""
