"""What ingesting a folder would do, found out without writing anything."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from palimpsest.client import Client
from palimpsest.ids import entity_key, observation_id
from palimpsest.v1.reader_service_pb2 import ListObservationsRequest
from palimpsest.v1.writer_service_pb2 import RetainArticleRequest

_PAGE_ITEMS = 100


@dataclass
class Preview:
    """How many texts would be stored, are known already, and would be removed."""

    new: int = 0
    known: int = 0
    removed: list[str] = field(default_factory=list)


def preview(
    client: Client, namespace: str, requests: Iterable[RetainArticleRequest], *, system: str, stream: str
) -> Preview:
    """Compares the requests with what is stored of the folder's stream."""
    stored = dict(_stored(client, namespace, system, stream))
    found, met = Preview(), set[str]()
    for request in requests:
        known = observation_id(namespace, request.source) in stored
        found.known += known
        found.new += not known
        met.add(entity_key(request.article.entity))
    found.removed = sorted(set(stored.values()) - met)
    return found


def _stored(client: Client, namespace: str, system: str, stream: str) -> Iterator[tuple[str, str]]:
    """The ids of the stored observations of texts, each with the key of the entity that has the text."""
    request = ListObservationsRequest(namespace=namespace, system=system, stream=stream, page_size=_PAGE_ITEMS)
    while True:
        page = client.reader.ListObservations(request)
        for stored in page.observations:
            for assertion in stored.observation.assertions:
                if assertion.HasField("document"):
                    yield stored.observation_id, entity_key(assertion.document.entity)
        if not page.next_page_token:
            return
        request.page_token = page.next_page_token
