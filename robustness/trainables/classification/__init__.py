"""Image classification by the paper's networks: the built-in trainable."""
