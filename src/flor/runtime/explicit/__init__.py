"""Loops, blocks and checkpoints that the user names: the same session, told by calls instead of instrumented code."""
