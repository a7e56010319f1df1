"""Inside training: what instrumented code, streams and loggers call while the user's script runs."""
