"""The standard library under its old names."""

import urllib
import urllib.request

__all__ = ["urllib"]
