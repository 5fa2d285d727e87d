"""Benchmarks: metrics, the continual protocol, datasets, synthetic graphs, the paper's tables."""
