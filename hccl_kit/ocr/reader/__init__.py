"""Reading pages with published weights: detection, direction and recognition as one program, without training.

The sizes, thresholds and orders are those of the package `rapidocr`, from which the weights come.
"""
