"""The logs of a run for other programs: CSV, JSON lines, TensorBoard's event files."""
