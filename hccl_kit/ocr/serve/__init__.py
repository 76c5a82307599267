"""What users do with a trained network: read images, export it."""
