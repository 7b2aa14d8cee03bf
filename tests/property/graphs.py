"""Random graphs with random visibility, and a plain walk over them to hold the statement against."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random

from services.reader.graph.walk import LEAST_WEIGHT, GraphPath, Route, Step, Walked

HIDING = "role:few"
RELATIONS = ("R", "S")
KINDS = ("x", "y")


@dataclass(frozen=True)
class Node:
    """An entity."""

    key: str
    kind: str
    hidden: bool
    withdrawn: bool
    archived: bool
    answers_as: str
    """The key that it is merged into; its own where it is not."""


@dataclass(frozen=True)
class Edge:
    """A link, or with an id a fact."""

    source: str
    relation: str
    target: str
    weight: float
    fact_id: str
    hidden: bool
    """Whether its evidence is."""
    ended: bool


@dataclass(frozen=True)
class Graph:
    """Entities by key, and edges between them."""

    nodes: dict[str, Node]
    edges: tuple[Edge, ...]

    def without_merges(self) -> Graph:
        """The same with each entity for itself, as it answers about the past."""
        return Graph({key: replace(node, answers_as=key) for key, node in self.nodes.items()}, self.edges)


def random_graph(chance: Random) -> Graph:
    """A graph of few entities and many edges, so that rings, parallels, loops and hubs are common."""
    keys = [f"a:{number}" for number in range(chance.randint(2, 9))]
    nodes = {key: _node(chance, key, keys) for key in keys}
    # A merge leads in one step to an entity that is not merged itself.
    canonical = {key for key, node in nodes.items() if node.answers_as == key}
    nodes = {
        key: node if node.answers_as in canonical else replace(node, answers_as=key) for key, node in nodes.items()
    }
    made = {}
    for number in range(chance.randint(4, 40)):
        edge = _edge(chance, keys, number)
        made.setdefault((edge.source, edge.relation, edge.target, edge.fact_id != ""), edge)
    return Graph(nodes, tuple(made.values()))


def random_route(chance: Random) -> Route:
    """Any bounds."""
    way = chance.choice([(True, True), (True, True), (True, False), (False, True)])
    return Route(
        depth=chance.randint(1, 3),
        limit=chance.choice([1, 3, 10, 1_000]),
        relations=chance.choice([(), (), ("R",), ("S", "T")]),
        kinds=chance.choice([(), (), ("x",)]),
        outgoing=way[0],
        incoming=way[1],
        fan_out=chance.choice([1, 2, 4, 100]),
    )


def plain_walk(graph: Graph, anchor: str, route: Route, *, cleared: bool) -> Walked:
    """All paths within the bounds, sorted, then cut: what the statement has to tell."""
    whole = _Walk(graph, route, cleared)
    found = sorted(whole.from_path(GraphPath((anchor,), (), 1.0)), key=_order)
    return Walked(tuple(found[: route.limit]), whole.cut or len(found) > route.limit)


class _Walk:
    def __init__(self, graph: Graph, route: Route, cleared: bool) -> None:
        self._graph, self._route, self._cleared = graph, route, cleared
        self.cut = False

    def from_path(self, path: GraphPath) -> Iterator[GraphPath]:
        if len(path.steps) == self._route.depth:
            return
        steps = sorted(self._steps(path))
        self.cut |= len(steps) > self._route.fan_out
        for lightness, relation, fact_id, _, is_reversed, _, key in steps[: self._route.fan_out]:
            step = Step(relation, is_reversed, -lightness, fact_id)
            longer = GraphPath((*path.keys, key), (*path.steps, step), path.weight * step.weight)
            yield longer
            yield from self.from_path(longer)

    def _steps(self, path: GraphPath) -> Iterator[tuple[float, str, str, str, bool, str, str]]:
        own = {key for key in self._graph.nodes if self._is_there(key) and self._head(key) == path.keys[-1]}
        for edge in self._graph.edges:
            if edge.ended or (edge.hidden and not self._cleared):
                continue
            if self._route.relations and edge.relation not in self._route.relations:
                continue
            if path.weight * edge.weight < LEAST_WEIGHT:
                continue
            for is_reversed, start, end in ((False, edge.source, edge.target), (True, edge.target, edge.source)):
                wanted = self._route.incoming if is_reversed else self._route.outgoing
                if wanted and start in own and self._is_reached(end, path):
                    yield -edge.weight, edge.relation, edge.fact_id, end, is_reversed, start, self._head(end)

    def _is_reached(self, end: str, path: GraphPath) -> bool:
        head = self._head(end)
        of_kind = not self._route.kinds or self._graph.nodes[head].kind in self._route.kinds
        return self._is_live(end) and self._is_live(head) and of_kind and head not in path.keys

    def _head(self, key: str) -> str:
        head = self._graph.nodes[key].answers_as
        return head if self._is_there(head) else key

    def _is_there(self, key: str) -> bool:
        node = self._graph.nodes[key]
        return not node.withdrawn and (self._cleared or not node.hidden)

    def _is_live(self, key: str) -> bool:
        return self._is_there(key) and not self._graph.nodes[key].archived


def _node(chance: Random, key: str, keys: list[str]) -> Node:
    return Node(
        key,
        chance.choice(KINDS),
        hidden=chance.random() < 0.2,
        withdrawn=chance.random() < 0.05,
        archived=chance.random() < 0.05,
        answers_as=chance.choice(keys) if chance.random() < 0.2 else key,
    )


def _edge(chance: Random, keys: list[str], number: int) -> Edge:
    return Edge(
        chance.choice(keys),
        chance.choice(RELATIONS),
        chance.choice(keys),
        chance.choice([1.0, 0.5, 0.5, 0.1, 0.0]),
        f"fact-{number:02}" if chance.random() < 0.5 else "",
        hidden=chance.random() < 0.2,
        ended=chance.random() < 0.1,
    )


def _order(path: GraphPath) -> tuple[object, ...]:
    steps = path.steps
    return (
        len(steps),
        -path.weight,
        path.keys,
        [step.relation for step in steps],
        [step.fact_id for step in steps],
        [step.reversed for step in steps],
    )
