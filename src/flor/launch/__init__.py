"""The user's script: found, compiled with our calls in it, and run as `__main__`."""
