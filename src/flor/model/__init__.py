"""The nouns: frozen dataclasses that flow between rooms; no I/O, no torch."""
