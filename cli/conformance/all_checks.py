"""All checks, gathered from the modules of the sections."""

from importlib import import_module

from cli.conformance.registry import CHECKS

MODULES = (
    "access", "audit", "capture", "contexts", "curation", "documents", "domain_packs", "embedding", "entities", "facts",
    "namespaces", "observations", "operation", "privacy", "reading", "records", "retrieval", "shape", "text_kept",
    "timelines",
)  # fmt: skip
"""The modules of `checks`: loading one registers what it tries."""

for _name in MODULES:
    import_module(f"cli.conformance.checks.{_name}")

__all__ = ["CHECKS", "MODULES"]
