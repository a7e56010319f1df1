"""As much of torchvision as the scripts of `real_scripts.py` use, made of scikit-learn's digits and of noise."""

from torchvision import datasets, models, transforms, utils

__all__ = ["datasets", "models", "transforms", "utils"]
