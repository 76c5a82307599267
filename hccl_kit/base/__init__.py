"""Errors, the terminal, files, host names, options: used by all other folders, and importing none of them."""
