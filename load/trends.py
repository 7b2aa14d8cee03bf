"""Whether what is held, or how long calls take, grows: a robust slope over the second half of a run, with a bound."""

from collections.abc import Sequence

from load.gates import Gate
from load.measures import theil_sen

Point = tuple[float, float]
"""Seconds since the beginning, and the value."""


def second_half(points: Sequence[Point]) -> list[Point]:
    """The points of the second half of the time: the first fills caches and pools."""
    if not points:
        return []
    middle = (points[0][0] + points[-1][0]) / 2
    return [point for point in points if point[0] >= middle]


def growth(points: Sequence[Point]) -> float:
    """By how much the value grows over the second half, as the median of all slopes has it (Theil-Sen)."""
    later = second_half(points)
    return theil_sen(later) * (later[-1][0] - later[0][0]) if later else 0.0


def level(points: Sequence[Point]) -> float:
    """The median of the second half."""
    values = sorted(value for _, value in second_half(points))
    return values[len(values) // 2] if values else 0.0


def flat(name: str, points: Sequence[Point], share: float, least: float = 0.0) -> Gate:
    """A gate: over the second half the value grows by no more than a share of its level, or than `least` in its unit.

    It takes six points to tell a trend; fewer do not pass.
    """
    bound = max(share * level(points), least)
    found = growth(points)
    told = f"{found:+.4g} over the second half, at {level(points):.4g}"
    enough = len(second_half(points)) >= 3 and len(points) >= 6
    return Gate("soak", f"growth of {name}", told, f"at most {bound:.4g}, of six points", enough and found <= bound)
