"""Answers of reads that are made of more than one stored thing."""

from __future__ import annotations

from palimpsest.v1 import fact_pb2, namespace_pb2, observation_pb2, reference_pb2, retrieval_pb2
from palimpsest.v1 import reader_service_pb2 as pb

from services.reader.fact_history import FactEvent
from services.reader.messages import enum_value, optional_time, parsed, to_entity, to_fact
from services.reader.queries.get_source import Source
from services.reader.retrieval_messages import to_provenance_link
from services.reader.rows import Row


def to_source_response(source: Source) -> pb.GetSourceResponse:
    """An entity's text, with the provenance of the entity, or else of the observation that brought the text."""
    return pb.GetSourceResponse(
        entity=to_entity(source.entity),
        text=source.text,
        content_source=enum_value(source.content_source),
        media_type=source.document["media_type"] if source.document else "",
        provenance=_provenance(source),
        chain=map(to_provenance_link, source.chain),
    )


def to_neighbor(edge: Row, entity: Row) -> retrieval_pb2.Neighbor:
    """A neighbour and the edge to it."""
    step = retrieval_pb2.GraphStep(
        relation=edge["relation"], reversed=edge["reversed"], weight=edge["weight"], fact_id=edge["fact_id"]
    )
    return retrieval_pb2.Neighbor(entity=to_entity(entity), step=step)


def to_fact_event(event: FactEvent) -> fact_pb2.FactEvent:
    """One change of a fact."""
    return fact_pb2.FactEvent(
        type=enum_value(event.type),
        recorded_at=optional_time(event.recorded_at),
        observation_id=event.observation_id,
        other_fact_id=event.other_fact_id,
        reason=event.reason,
        fact=to_fact(event.fact),
    )


def to_statistics_response(counts: Row) -> pb.GetNamespaceStatisticsResponse:
    """The counts of a namespace."""
    statistics = namespace_pb2.NamespaceStatistics(
        observations=counts["observations"],
        entities=counts["entities"],
        facts=counts["facts"],
        links=counts["links"],
        chunks=counts["chunks"],
        unembedded_chunks=counts["unembedded_chunks"],
        link_claims=counts["link_claims"],
        last_recorded_at=optional_time(counts["last_recorded_at"]),
    )
    return pb.GetNamespaceStatisticsResponse(statistics=statistics)


def _provenance(source: Source) -> reference_pb2.Provenance | None:
    if source.entity["provenance"]:
        return parsed(reference_pb2.Provenance, source.entity["provenance"])
    if source.document is None or source.document["message"] is None:
        return None
    observation = parsed(observation_pb2.Observation, source.document["message"])
    return observation.provenance if observation.HasField("provenance") else None
