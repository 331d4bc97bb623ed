"""What is written short in laws, and the word that it stands for, folded; by language."""

from collections.abc import Mapping
from typing import Final

SPELT_OUT: Final[Mapping[str, Mapping[str, str]]] = {
    "de": {"§": "paragraph", "art": "artikel"},
    "en": {"§": "section"},
    "es": {"§": "parrafo", "art": "articulo", "arts": "articulo"},
    "fr": {"§": "paragraphe", "art": "article"},
    "it": {"§": "paragrafo", "art": "articolo", "artt": "articolo"},
    "pt": {"§": "paragrafo", "art": "artigo", "arts": "artigo"},
}
