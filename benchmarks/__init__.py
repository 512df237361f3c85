"""Speed beside other libraries: ``python -m benchmarks``."""
