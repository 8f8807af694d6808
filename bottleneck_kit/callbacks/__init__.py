"""What a user adds to model.fit, one Keras callback a file."""
