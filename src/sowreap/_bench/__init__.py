"""Timing of one call beside other libraries, for ``sowreap bench`` and the benchmarks."""
