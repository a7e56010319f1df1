"""One file a kind of object."""
