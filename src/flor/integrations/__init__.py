"""Callbacks for training frameworks: `flor.integrations.lightning` and `flor.integrations.transformers`."""
