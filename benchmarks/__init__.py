"""Measurements, not tests: each prints pass or fail beside its target; run one at a time."""
