"""The points at which `make crash` kills are there: what is renamed would otherwise show in a long run only."""

import inspect

import pytest

from tests.faults.crash.dying import place_of
from tests.faults.crash.points import POINTS, Moment, Point


@pytest.mark.parametrize("point", POINTS.values(), ids=POINTS)
def test_a_point_is_a_function_of_the_product(point: Point) -> None:
    """OB-3: and one that waits for somebody, where it is to die while it does."""
    holder, name = place_of(point)
    function = getattr(holder, name)
    assert callable(function)
    assert point.moment is not Moment.DURING or inspect.iscoroutinefunction(function)
