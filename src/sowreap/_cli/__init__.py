"""The command ``sowreap``: arguments, files and printing; no operator logic."""
