"""The contract's estimate of a text's length in tokens, the same for every model."""


def token_count(text: str) -> int:
    """Returns one token per four bytes of Latin and one per two characters of other scripts, rounded up once.

    Latin is U+0000 to U+024F: its letters, and the digits, spaces and signs that every script shares. A mixed text is
    the sum of its parts: `привет, world` has 6 other characters and 7 bytes of Latin: 4.75 tokens, so 5.
    """
    # Latin beyond ASCII takes two bytes, half a token as another script's character does: only ASCII counts a quarter.
    ascii_characters = len(text) if text.isascii() else len(text.encode("ascii", "ignore"))
    return -(-(2 * len(text) - ascii_characters) // 4)
