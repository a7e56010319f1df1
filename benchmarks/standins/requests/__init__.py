"""Nothing: the script that imports it finds its data already there."""
