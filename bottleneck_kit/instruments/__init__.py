"""What runs beside the training; each part can fail without training noticing."""
