"""The kernel's part in keeping a replay's files apart: a mount namespace with overlays, and Landlock."""
