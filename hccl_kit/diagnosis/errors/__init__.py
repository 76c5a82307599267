"""What is known about the errors and the lines of HCCL's logs, one row each; `table` has all of them."""
