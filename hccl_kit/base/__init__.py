"""What every room stands on: errors, the terminal, files, host names, options. It imports nothing of ours."""
