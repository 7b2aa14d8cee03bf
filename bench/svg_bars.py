"""A bar chart as SVG, for a page that shows it as an image: no script, no font of its own, light or dark around it."""

from __future__ import annotations

from collections.abc import Sequence
from xml.sax.saxutils import escape

_WIDTH, _LEFT, _RIGHT, _ROW, _BAR, _TOP = 720, 250, 80, 28, 18, 44

_SMALL = 'font-size="13" fill="#222222"'


def bars(title: str, values: Sequence[tuple[str, float]], *, marked: str = "") -> str:
    """A horizontal bar for each named value, with its figure; the bar named `marked` has another colour."""
    most = max((value for _, value in values), default=0.0) or 1.0
    rows = [_bar(place, name, value, value / most, name == marked) for place, (name, value) in enumerate(values)]
    height = _TOP + _ROW * len(values) + 12
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" font-family="sans-serif">'
    ground = f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>'
    caption = f'<text x="16" y="26" font-size="15" font-weight="600" fill="#222222">{escape(title)}</text>'
    return "\n".join([head, ground, caption, *rows, "</svg>"]) + "\n"


def _bar(place: int, name: str, value: float, share: float, is_marked: bool) -> str:
    top = _TOP + _ROW * place
    width = round(share * (_WIDTH - _LEFT - _RIGHT), 1)
    colour = "#b5542f" if is_marked else "#4a78b5"
    middle = top + _BAR - 5
    return "".join(
        (
            f'<text x="{_LEFT - 10}" y="{middle}" text-anchor="end" {_SMALL}>{escape(name)}</text>',
            f'<rect x="{_LEFT}" y="{top}" width="{width}" height="{_BAR}" fill="{colour}"/>',
            f'<text x="{_LEFT + width + 6}" y="{middle}" {_SMALL}>{value:.3g}</text>',
        )
    )
