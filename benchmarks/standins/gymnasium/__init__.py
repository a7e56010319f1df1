"""As much of gymnasium as two scripts use: a pole on a cart, which counts as solved early, so that they end soon."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

GRAVITY, CART, POLE, HALF_LENGTH, FORCE, STEP = 9.8, 1.0, 0.1, 0.5, 10.0, 0.02
FARTHEST, STEEPEST, LONGEST = 2.4, math.radians(12), 500


@dataclass
class Spec:
    """What is known of an environment before it runs."""

    id: str
    reward_threshold: float = 45.0


@dataclass
class CartPole:
    """The equations of motion of a pole hinged on a cart, integrated by Euler's method."""

    spec: Spec
    np_random: np.random.Generator = field(default_factory=np.random.default_rng)
    state: np.ndarray = field(default_factory=lambda: np.zeros(4))
    steps: int = 0

    def reset(self, seed: int | None = None) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin anew, from a state drawn from the environment's own random numbers."""
        if seed is not None:
            self.np_random = np.random.default_rng(seed)
        self.state, self.steps = self.np_random.uniform(-0.05, 0.05, 4), 0
        return self.state.astype(np.float32), {}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Push the cart to one side."""
        _, speed, angle, spin = self.state
        push = (FORCE if action else -FORCE) + POLE * HALF_LENGTH * spin**2 * math.sin(angle)
        pull = push / (CART + POLE)
        turn = GRAVITY * math.sin(angle) - math.cos(angle) * pull
        turn /= HALF_LENGTH * (4 / 3 - POLE * math.cos(angle) ** 2 / (CART + POLE))
        drive = pull - POLE * HALF_LENGTH * turn * math.cos(angle) / (CART + POLE)
        self.state = self.state + STEP * np.array([speed, drive, spin, turn])
        self.steps += 1
        fallen = bool(abs(self.state[0]) > FARTHEST or abs(self.state[2]) > STEEPEST)
        return self.state.astype(np.float32), 1.0, fallen, self.steps >= LONGEST, {}


def make(name: str, render_mode: str | None = None) -> CartPole:
    """The one environment that there is."""
    return CartPole(Spec(name))
