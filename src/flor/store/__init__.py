"""Bytes and disk: journals, packs, runs and their cache; knows nothing of training and executes nothing."""
