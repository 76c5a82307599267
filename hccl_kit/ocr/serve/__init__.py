"""Prediction and export with a trained network."""
