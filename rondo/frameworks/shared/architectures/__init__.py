"""The 24 common model shapes and `identity`, over the shared layer vocabulary, one file each."""
