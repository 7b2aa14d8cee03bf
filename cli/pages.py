"""Reads lists page by page."""

from collections.abc import Callable, Iterator
from typing import Any

_PAGE = 200


def items_of(call: Callable[[Any], Any], request: Any, field: str, limit: int) -> Iterator[Any]:
    """At most `limit` items of a list, which its responses hold in `field`."""
    request.page_size = min(limit, _PAGE)
    while limit > 0:
        response = call(request)
        items = getattr(response, field)[:limit]
        yield from items
        limit -= len(items)
        if not response.next_page_token:
            return
        request.page_token = response.next_page_token
