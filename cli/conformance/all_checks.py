"""All checks, gathered from the modules of the sections."""

from cli.conformance.checks import (
    access,
    audit,
    capture,
    contexts,
    curation,
    documents,
    domain_packs,
    embedding,
    entities,
    facts,
    namespaces,
    observations,
    operation,
    privacy,
    reading,
    records,
    retrieval,
    shape,
    text_kept,
    timelines,
)
from cli.conformance.registry import CHECKS

MODULES = (
    access, audit, capture, contexts, curation, documents, domain_packs, embedding, entities, facts, namespaces,
    observations, operation, privacy, reading, records, retrieval, shape, text_kept, timelines,
)  # fmt: skip
"""The modules that register checks when they are loaded."""

__all__ = ["CHECKS", "MODULES"]
