"""How good links are: metrics, and the one progressive protocol of the benchmarks."""
