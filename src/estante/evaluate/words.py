"""The words of a report, in English and Portuguese, and numbers as each writes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

Language = Literal["en", "pt"]

_TABLE: Final[Mapping[str, tuple[str, str]]] = {
    "title": ("Retrieval, measured", "Recuperação medida"),
    "quality": ("Quality", "Qualidade"),
    "measure": ("measure", "medida"),
    "difference": ("difference", "diferença"),
    "interval": ("{level} % interval", "intervalo de {level} %"),
    "p": ("p (Holm)", "p (Holm)"),
    "p_bootstrap": ("p, bootstrap (Holm)", "p, bootstrap (Holm)"),
    "effect": ("effect d", "efeito d"),
    "score": ("better / same / worse", "melhor / igual / pior"),
    "better": ("significantly better", "melhor, com significância"),
    "worse": ("significantly worse", "pior, com significância"),
    "same": ("no significant difference", "sem diferença significativa"),
    "against": ("against {first}", "em relação a {first}"),
    "run": ("run", "execução"),
    "speed": ("Speed and memory", "Velocidade e memória"),
    "speed_note": (
        "Measured on one machine at one moment; no part of the quality above, and of no test.",
        "Medidas em uma máquina e um momento; não fazem parte da qualidade nem de teste algum.",
    ),
    "not_timed": ("not timed", "sem tempos"),
    "per_second": ("questions/s", "perguntas/s"),
    "peak": ("peak memory", "memória máxima"),
    "calls": ("calls", "chamadas"),
    "counts": ("What was counted", "O que foi contado"),
    "questions": ("questions", "perguntas"),
    "without_judgements": ("without judgements (count 0)", "sem julgamentos (contam 0)"),
    "without_relevant": ("with nothing relevant (count 0)", "sem nada relevante (contam 0)"),
    "without_results": ("without results (count 0)", "sem resultados (contam 0)"),
    "errors": ("errors of the pipeline (count 0)", "erros do pipeline (contam 0)"),
    "judged_without_question": ("judged, but not among the questions", "julgadas, mas fora das perguntas"),
    "of_other_parts": ("left to another part, or not judged", "de outra parte, ou sem julgamento"),
    "hits_without_name": ("hits without a name", "resultados sem nome"),
    "hits_without_place": ("hits without a place in the corpus", "resultados sem lugar no corpus"),
    "cut_short": ("lists that more hits might lengthen", "listas que mais resultados alongariam"),
    "judged_absent": ("judged relevant, but not in the corpus", "julgados relevantes, mas fora do corpus"),
    "warnings": ("To be known", "A saber"),
    "plots": ("Pictures", "Gráficos"),
    "means": ("Mean of each measure, with its interval", "Média de cada medida, com seu intervalo"),
    "differences": ("Difference of each question, {measure}", "Diferença de cada pergunta, {measure}"),
    "recall": ("Recall by depth", "Revocação por profundidade"),
    "latency": ("Latency of the questions", "Latência das perguntas"),
    "depth": ("places looked at (k)", "posições consideradas (k)"),
    "recall_axis": ("recall", "revocação"),
    "milliseconds": ("milliseconds", "milissegundos"),
    "questions_axis": ("questions", "perguntas"),
    "questions_sorted": ("questions, sorted by difference", "perguntas, ordenadas pela diferença"),
    "value": ("value", "valor"),
    "furthest": ("Questions that differ most, {measure}", "Perguntas que mais diferem, {measure}"),
    "worst": ("Questions with the lowest value, {measure}", "Perguntas de menor valor, {measure}"),
    "question": ("question", "pergunta"),
    "failed": ("Questions that the pipeline failed at", "Perguntas em que o pipeline falhou"),
    "error": ("error", "erro"),
    "settings": ("Where the numbers come from", "De onde vêm os números"),
    "none": ("none", "nenhum"),
    "left_out": (
        "{run}: {count} of {all} questions are left out, because another run lacks them or has other judgements",
        "{run}: {count} de {all} perguntas ficaram de fora: outra execução não as tem, ou as julga de outro modo",
    ),
    "run_errors": (
        "{run}: the pipeline failed at {count} questions, which count 0",
        "{run}: o pipeline falhou em {count} perguntas, que contam 0",
    ),
    "run_absent": (
        "{run}: {count} names judged relevant are not in the corpus and cannot be found",
        "{run}: {count} nomes julgados relevantes não estão no corpus e não podem ser encontrados",
    ),
    "other_pipeline_corpus": (
        "{run}: the corpus of the pipeline is another than that of {first}",
        "{run}: o corpus do pipeline não é o mesmo de {first}",
    ),
    "other_corpus": (
        "{run}: the corpus of the collection is another than that of {first}",
        "{run}: o corpus da coleção não é o mesmo de {first}",
    ),
    "other_wording": (
        "{run}: the questions are worded otherwise than those of {first}",
        "{run}: as perguntas têm outra redação que as de {first}",
    ),
    "other_setting": (
        "{run}: {name} is {value}, and {other} in {first}",
        "{run}: {name} é {value}, e {other} em {first}",
    ),
    "legend": (
        "▲ and ▼ mark a difference that is significant at {alpha} by the paired randomisation test, with Holm's rule "
        "over all {family} comparisons of this table. Intervals are those of the paired bootstrap, each by itself.",
        "▲ e ▼ marcam diferença significativa ao nível {alpha} pelo teste pareado de aleatorização, com a regra de "
        "Holm sobre as {family} comparações desta tabela. Os intervalos são do bootstrap pareado, cada um por si.",
    ),
}

LANGUAGES: Final[tuple[Language, ...]] = ("en", "pt")


class Words:
    """Texts and numbers in one language."""

    def __init__(self, language: Language) -> None:
        self.language = language
        self._at = LANGUAGES.index(language)

    def __call__(self, key: str, **values: object) -> str:
        """The text of this key; ``values`` fill its braces."""
        return _TABLE[key][self._at].format(**values)

    def number(self, value: float | None, digits: int = 4, *, signed: bool = False) -> str:
        """A number with so many digits; a dash for None."""
        if value is None:
            return "–"
        if value == 0:
            signed, value = False, 0.0  # A zero that was subtracted from may have a sign of its own.
        told = f"{value:{'+' if signed else ''},.{digits}f}".replace("-", "\N{MINUS SIGN}")
        return told if self.language == "en" else told.translate({ord(","): ".", ord("."): ","})

    def p(self, value: float) -> str:
        """A p-value; very small ones as a bound."""
        return f"< {self.number(0.001, 3)}" if value < 0.001 else self.number(value, 3)
