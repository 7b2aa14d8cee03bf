"""RE-13: what feeds keep is bounded together, and goes in the order in which it came."""

from services.reader.watch.shelf import Shelf


def test_what_came_first_goes_first() -> None:
    """RE-13: whosever it is, and no more than there has to; what is taken by itself makes room too."""
    shelf, kept = Shelf(10), dict[str, int]()

    def put(name: str, size: int) -> None:
        def drop() -> None:
            shelf.take(kept.pop(name))

        kept[name] = shelf.put(size, drop)

    for name in ("a1", "b1", "a2"):
        put(name, 3)
    put("b2", 4)
    assert list(kept) == ["b1", "a2", "b2"]
    shelf.take(kept.pop("a2"))
    put("a3", 3)
    assert list(kept) == ["b1", "b2", "a3"]
    put("b3", 0)
    assert list(kept) == ["b1", "b2", "a3", "b3"]


def test_the_last_is_kept_however_large_it_is() -> None:
    """RE-13: those who are told at once need not read it again."""
    shelf, gone = Shelf(0), list[str]()
    places = {}

    def put(name: str) -> None:
        places[name] = shelf.put(5, lambda: (gone.append(name), shelf.take(places[name])))  # type: ignore[func-returns-value]

    put("a")
    assert not gone
    put("b")
    assert gone == ["a"]
