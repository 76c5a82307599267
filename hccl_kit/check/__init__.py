"""Hold a rank table to the rules of its product, and say, select, fix and show what is found."""
