"""Finds what the vectors of a model's queries have in common: their mean, and what tells English ones from Russian.

usage: python -m bench.centring [--target HOST:PORT] > FILE

The queries are the pairs of `bench/probe_queries.txt`, none of which is in a benchmark. Without a target the model is
that of the embedded system. FILE then replaces `services/reader/retrieval/centring.json`; what that holds of
other models is kept.
"""

import argparse
import json
from pathlib import Path

import numpy as np
import numpy.typing as npt
from palimpsest.v1 import embedder_service_pb2

from bench.system import System, system
from services.reader.retrieval.centring import DIRECTIONS

PROBES = Path(__file__).with_name("probe_queries.txt")
DIGITS = 5

Matrix = npt.NDArray[np.float32]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", help="HOST:PORT, or WRITER,READER,EMBEDDER; default: a fresh embedded system")
    with system(parser.parse_args().target) as target:
        english, russian = zip(*probes(), strict=True)
        fingerprint, in_english = embedded(target, english)
        _, in_russian = embedded(target, russian)
    found = {fingerprint: directions(in_english, in_russian)}
    print(json.dumps(json.loads(DIRECTIONS.read_text()) | found, separators=(",", ":")))


def probes() -> list[tuple[str, str]]:
    """Pairs of one query in English and in Russian."""
    lines = PROBES.read_text(encoding="utf-8").splitlines()
    return [(english, russian) for english, _, russian in (line.partition("\t") for line in lines)]


def embedded(target: System, texts: tuple[str, ...]) -> tuple[str, Matrix]:
    request = embedder_service_pb2.EmbedRequest(texts=texts, input_type=embedder_service_pb2.INPUT_TYPE_QUERY)
    response = target.embedder.Embed(request, timeout=600)
    halfs = [np.frombuffer(result.vector.halfs, dtype="<f2") for result in response.results]
    return response.fingerprint.id, np.array(halfs, dtype=np.float32)


def directions(english: Matrix, russian: Matrix) -> dict[str, list[float]]:
    apart = (english - russian).mean(axis=0)
    both = {"common": np.concatenate([english, russian]).mean(axis=0), "language": apart / np.linalg.norm(apart)}
    return {name: [round(float(value), DIGITS) for value in vector] for name, vector in both.items()}


if __name__ == "__main__":
    main()
