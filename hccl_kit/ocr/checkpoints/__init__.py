"""Files of weights: writing, reading, fetching, retention, and the files of earlier runs."""
