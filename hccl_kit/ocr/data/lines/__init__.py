"""Images of one line of text: sources, transforms and augmentations."""
