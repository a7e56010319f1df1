"""The part of six that the super-resolution example imports."""
