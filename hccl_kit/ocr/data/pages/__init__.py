"""Images of whole pages with their texts: labels, transforms and target maps."""
