"""TensorFlow and Keras constructs, one file each; discovered by their folder."""
