"""From an error text or a log to its meaning: the catalogue of all rules, HCCL's own errors, and the lookup."""
