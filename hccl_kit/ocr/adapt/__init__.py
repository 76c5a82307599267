"""Changes to a network between construction and training: weights, precision, frozen parts."""
