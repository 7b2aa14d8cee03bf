"""The form in which texts are compared (OB-8). Equal to the SQL function `normal_form`, as a test shows."""

import unicodedata

# As in the SQL function, and two letters that Python lowers otherwise than the database's simple mapping does: it makes
# two characters of `İ`, and of a last `Σ` another letter than of an inner one.
_TABLE = str.maketrans(
    "ёЁ\u00a0\u202f\u2007İΣ",
    "еЕ   iσ",
    "\u00ad\u200b\u200c\u200d\u2060\ufeff",
)


def normal_form(text: str) -> str:
    """Returns a text in NFC and lower case, with `ё` as `е`, without zero-width characters and soft hyphens, and with
    no-break spaces as spaces."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFC", text).translate(_TABLE).lower()


def is_blank(text: str) -> bool:
    """Whether a text has no character that can be seen: only spaces and characters of no width."""
    # Most begin with a letter or a digit, which stays one in every form.
    return not text[:1].isalnum() and not normal_form(text).strip()
