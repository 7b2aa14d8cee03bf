"""Writes `alerts.yaml`, the rules as Prometheus itself reads them, from `prometheus_rule.yaml`."""

import textwrap
from pathlib import Path

FOLDER = Path(__file__).parent
SOURCE, PLAIN = FOLDER / "prometheus_rule.yaml", FOLDER / "alerts.yaml"
_HEAD = "# Written by `make observability` from prometheus_rule.yaml, which is to be changed instead.\n"


def plain_rules() -> str:
    """The `spec` of the PrometheusRule, as a file of its own."""
    _, _, spec = SOURCE.read_text().partition("\nspec:\n")
    return _HEAD + textwrap.dedent(spec)


if __name__ == "__main__":
    PLAIN.write_text(plain_rules())
