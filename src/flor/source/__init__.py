"""Text -> facts: what the user's source says, by the stdlib ast alone."""
