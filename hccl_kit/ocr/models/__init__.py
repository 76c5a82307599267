"""Networks, each pure: images in, logits out. No loss, no decoder, no configuration file."""
