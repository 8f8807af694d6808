"""A tf.data pipeline as a list of stages, with their traits and costs."""
