"""How a model is written as Python: names, literals, operators, graphs, the module."""
