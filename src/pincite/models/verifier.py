"""The verifier: judges (claim, passage) pairs by a cross-encoder and rules, with its reasons."""

import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np

from pincite.errors import MissingModel
from pincite.judgement import decide
from pincite.judgement.attribution import misattribution, said_by_another
from pincite.judgement.comparable import is_of_another_time
from pincite.judgement.contradictions import contradiction
from pincite.judgement.degrees import narrower
from pincite.judgement.force import find_weakening
from pincite.judgement.other_values import value_of_another
from pincite.models import calibration, weights
from pincite.models.calibration import Calibration
from pincite.models.session import LogitCache, Session, TextPairs
from pincite.notes import Note
from pincite.protocols import Floats
from pincite.text import antonyms, names, paraphrase, quantities, tables
from pincite.text import words as wording
from pincite.text.changes import agreeing
from pincite.text.context import referents_in
from pincite.text.languages import common
from pincite.text.quantities import values as values_of
from pincite.types import (
    GAP,
    Claim,
    Effect,
    Evidence,
    Passage,
    Readout,
    Span,
    Witness,
    WitnessKind,
    sigmoid,
)

MAX_TOKENS = 448  # fits a claim of 60 words and a wide passage of 250; longer rows are truncated
SENTENCES = 2  # of a passage, judged again before the network alone refutes
MAX_NAMED = 4  # figures or names listed in a reason
# From which probability of support the network chooses the quote, and among how many sentences. The
# log-odds for sharing the most with the claim, and for being the first to do so: words decide where
# the network sees no difference (research/verifier.md).
QUOTED_FROM, QUOTABLE = 0.3, 4
QUOTABLE_ACROSS = 8  # in another language than the claim's, where words decide nothing
SHARED, FIRST = 2.0, 0.5
ON_TOPIC = 0.5  # a passage that lacks more of the claim's content words is about something else
# Per pair of a chat model on one GPU: docs.bespokelabs.ai/models/bespoke-minicheck
SERVED_SECONDS = 0.2

Pair: TypeAlias = tuple[Claim, Passage]


class Network(Protocol):
    """A network that reads (claim, passage) pairs."""

    @property
    def width(self) -> int:
        """Logits of a verdict: three (supported, refuted, neutral), or one of support."""

    @property
    def is_served(self) -> bool:
        """Whether a server runs it, which may charge for each pair."""

    def logits(self, rows: TextPairs) -> Floats:
        """Return (n_rows, `width`); further columns, if any, judge the claim's words."""


class CrossEncoderVerifier:
    """A cross-encoder, calibrated together with features computed by rules.

    The one logit of a network may also be of relevance, as in the rerankers on the hub.
    """

    def __init__(
        self, model: "Path | LoadedNetwork", *, threads: int = 0, judged: Path | None = None
    ) -> None:
        """Load a model's folder, or use a network that is there, such as a server's.

        `threads`, and what is raised: as of `load`. `judged`: file that caches logits, if any.
        """
        loaded = load(model, threads) if isinstance(model, Path) else model
        self._network, self.calibration = loaded.network, loaded.calibration
        self.languages = loaded.languages
        self.fingerprint = f"{loaded.fingerprint}+{self.calibration.name}"
        self._judged = LogitCache(judged, loaded.fingerprint) if judged else None

    def close(self) -> None:
        if self._judged:
            self._judged.close()

    def verify(self, pairs: Sequence[Pair]) -> list[Evidence]:
        """Judge each pair, in order.

        A passage refutes a claim only with a witness: a contradiction found by a rule, or a network
        that is surer than the calibration's bound. Any other passage is neutral, however little of
        the claim it says. A pair that raises an error is marked (`decide.not_judged`) and does
        not affect the others.
        """
        return decide.verify_each(self._judge, pairs)

    def _judge(self, pairs: Sequence[Pair]) -> list[Evidence]:
        logits = self._logits(pairs)
        log_odds = self._odds(logits)
        by_rule = [contradiction(claim, passage) for claim, passage in pairs]
        support, refuted = self.calibration.scores(calibration.features(pairs, log_odds, by_rule))
        n_gaps = np.array([max(0, len(passage.pieces) - 1) for _, passage in pairs])
        support -= calibration.OF_A_GAP * n_gaps
        _, places = self.contrary(pairs, log_odds, self.calibration.bounds(pairs))
        evidence = [
            _evidence(
                pair,
                Readout(float(support[i]), sigmoid(float(refuted[i])), float(log_odds[i, 0])),
                by_rule[i] or places.get(i),
                _unsupported_words(pair, logits[i, self._network.width :]),
            )
            for i, pair in enumerate(pairs)
        ]
        quoted = self._requote([claim.text for claim, _ in pairs], evidence)
        return [
            replace(one, quote=one.quote and one.passage.within_a_piece(one.quote))
            for one in quoted
        ]

    def _requote(self, claims: Sequence[str], evidence: Sequence[Evidence]) -> list[Evidence]:
        """Replace the quotes of supporting evidence by those that the network prefers.

        Of the sentences that share most with the claim, the one with the largest sum of log-odds
        and shared words. Servers are not used for this, since they may charge.
        """
        if self._network.width == 1 or self._network.is_served:
            return list(evidence)
        options = [
            _quotable_sentences(claim, one) for claim, one in zip(claims, evidence, strict=True)
        ]
        candidates = [(i, span) for i, spans in enumerate(options) for span in spans]
        odds = self.log_odds(
            [(Claim("", claims[i]), _cut(evidence[i].passage, span)) for i, span in candidates]
        )
        odds_of = dict(zip(candidates, odds[:, 0], strict=True))
        quoted = list(evidence)
        for i, values in enumerate(options):
            if values:
                best = max(values, key=lambda span: odds_of[i, span] + values[span])
                quote = wording.best_quote(claims[i], evidence[i].passage.text, best)
                quoted[i] = replace(evidence[i], quote=quote)
        return quoted

    def contrary(
        self, pairs: Sequence[Pair], log_odds: Floats, bounds: Floats
    ) -> tuple[Floats, dict[int, Span]]:
        """Return how surely the network alone reads each pair as a contradiction, and where.

        As `calibration.contrary` of `log_odds`, (n_pairs,). Pairs that reach their bound are judged
        again, two sentences at a time, and get the lower value: a network that confuses who did
        what in a long passage seldom does so in a short one.

        Also returns, by index, the two sentences to quote: those that are most contrary together,
        and of which one is most contrary alone. For 50 contradictions of SciFact, these two had a
        sentence of the rationale 40 times; the single most contrary sentence was one 31 times.
        """
        surety, places = calibration.contrary(log_odds), dict[int, Span]()
        for i in map(int, np.flatnonzero(surety >= bounds)):
            claim, passage = pairs[i]
            windows = _windows(passage.text, SENTENCES)
            closer = self.log_odds([(claim, _cut(passage, window)) for window in windows])
            support = max(log_odds[i, 0], closer[:, 0].max())
            of_windows = calibration.contrary(closer, np.full(len(closer), support))
            surety[i] = min(surety[i], of_windows.max())
            if surety[i] < bounds[i]:
                continue
            sentences = [(claim, _cut(passage, span)) for span in _windows(passage.text, 1)]
            alone = calibration.contrary(self.log_odds(sentences))
            surest = [alone[n : n + SENTENCES].max() for n in range(len(windows))]
            places[i] = windows[int((of_windows + surest).argmax())]
        return surety, places

    def seconds_a_pair(self, pairs: Sequence[Pair]) -> float:
        """Measure the network's time per pair; a server is not used."""
        if self._network.is_served:
            return SERVED_SECONDS
        began = time.perf_counter()
        self._run([(claim.text, passage.text) for claim, passage in pairs])
        return (time.perf_counter() - began) / max(1, len(pairs))

    def relevance(self, pairs: Sequence[Pair]) -> Floats:
        """Return how likely a passage bears on a question at all: log-odds, (n_pairs,).

        Supported or refuted against neutral; for a network with one logit, that logit.
        """
        log_odds = self.log_odds(pairs)
        support, refuted = log_odds[:, 0], log_odds[:, 1]
        if self._network.width == 1:
            return support
        # The latter is against neutral, whose log-odds are then 0.
        either: Floats = np.logaddexp(support + np.logaddexp(refuted, 0.0), refuted)
        return either

    def log_odds(self, pairs: Sequence[Pair]) -> Floats:
        """Return the network's output as (n_pairs, 2): of support, and of refuted against neutral.

        For a network with one logit, (logit, 0). The claim comes without its context: on the
        WAFER-like dev pages, P@1 of a supporting passage was 0.88 with the bare claim, the same
        with its article's title, and 0.65 with the preceding sentence.
        """
        return self._odds(self._logits(pairs))

    def _logits(self, pairs: Sequence[Pair]) -> Floats:
        rows = [_network_input(pair) for pair in pairs]
        logits = self._judged.logits(rows, self._run) if self._judged else self._run(rows)
        return logits if rows else np.zeros((0, self._network.width), dtype=np.float32)

    def _odds(self, logits: Floats) -> Floats:
        if self._network.width == 1:
            return np.hstack([logits[:, :1], np.zeros_like(logits[:, :1])])
        supported, refuted, neutral = logits.T
        return np.stack([supported - np.logaddexp(refuted, neutral), refuted - neutral], axis=1)

    def _run(self, rows: Sequence[tuple[str, str]]) -> Floats:
        return self._network.logits(rows)


class LoadedNetwork(NamedTuple):
    """A network with what belongs to its weights."""

    fingerprint: str  # name and hash of the weights
    network: Network
    calibration: Calibration
    languages: frozenset[str]  # that it reads (ISO 639-1)


def load(folder: Path, threads: int = 0) -> LoadedNetwork:
    """Load a model's folder; `threads`: 0 for all cores. Raises MissingModel and MissingExtra."""
    fingerprint, layout = weights.fingerprint(folder), weights.layout_of(folder)
    if layout:
        from pincite.models import public

        labels = public.labels_of(layout, folder)
        backend: Session | public.Transformer
        if layout.runs_as_onnx and (folder / "model.onnx").is_file():
            backend = Session(folder, max_tokens=layout.max_tokens, threads=threads)
        else:
            backend = public.Transformer(folder, layout, labels, threads)
        network: Network = public.PublicNetwork(layout, labels, backend)
        fingerprint = f"{fingerprint}/{layout.name}"
    else:
        most = weights.read_card(folder).get("max_tokens", MAX_TOKENS)
        network = Session(folder, max_tokens=most, threads=threads)
        if network.width not in (1, 3):
            raise MissingModel(
                f"{folder} has {network.width} outputs; a verifier has three (supported, refuted, "
                "neutral) or one (relevance)."
            )
    calibrated = calibration.calibration_for(folder, network.width)
    return LoadedNetwork(fingerprint, network, calibrated, weights.languages_of(folder))


def _network_input(pair: Pair) -> tuple[str, str]:
    """Return what the network reads: the claim and the passage, in the passage's words."""
    claim, passage = pair
    return paraphrase.verifier_input(
        claim.text,
        passage.text.replace(GAP, "\n"),
        passage.title,
        passage.page,
        passage.published,
        claim.about,
    )


def _cut(passage: Passage, span: Span) -> Passage:
    return replace(passage, text=span.of(passage.text))


def _windows(text: str, n: int) -> list[Span]:
    """Return all windows of `n` sentences, or the whole text if it has fewer."""
    sentences = wording.sentences_of(text) or (Span(0, len(text)),)
    ends = sentences[min(n, len(sentences)) - 1 :]
    return [Span(first.start, last.end) for first, last in zip(sentences, ends, strict=False)]


def _quotable_sentences(claim: str, evidence: Evidence) -> dict[Span, float]:
    """Return the candidate sentences for the quote, with the value of their words.

    Empty if the passage does not support the claim, or a sentence has all of its words.
    """
    text, title = evidence.passage.text, evidence.passage.title
    if evidence.prob_supported < QUOTED_FROM:
        return {}
    if decide.has(evidence, Effect.CONTRADICTS, Effect.LIMITS):
        return {}
    sentences = wording.quotable(claim, text)
    if common(claim, text):
        sentences, first = sentences[:QUOTABLE], FIRST
    else:  # its title is a short sentence to a network
        untitled = [one for one in sentences if one[0].of(text) != title]
        sentences, first = tuple(untitled[:QUOTABLE_ACROSS]), 0.0
    if not sentences or not wording.missing_words(claim, sentences[0][0].of(text)):
        return {}
    most = sentences[0][1] or 1.0
    values = {span: SHARED * share / most for span, share in sentences}
    values[sentences[0][0]] += first
    return values


def _unsupported_words(pair: Pair, odds: Floats) -> tuple[str, ...]:
    """Return the claim's words that a token-level network finds unsupported, if any."""
    if not len(odds):
        return ()
    claim, _ = _network_input(pair)
    words = re.findall(r"\S+", claim)[: len(odds)]
    runs, doubted = list[str](), False
    for word, odd in zip(words, odds, strict=False):
        if odd > 0:
            runs.append(f"{runs.pop()} {word}" if doubted else word)
        doubted = odd > 0
    return tuple(run.rstrip(".,;:") for run in runs if run in pair[0].text)[:MAX_NAMED]


def _evidence(
    pair: Pair, readout: Readout, contrary: Witness | Span | None, unsupported: tuple[str, ...]
) -> Evidence:
    """Build the evidence. `contrary`: found by a rule, or the sentences that the network reads."""
    claim, passage = pair
    witnesses, quote = _witnesses(claim, passage, readout, contrary)
    quote = quote or wording.best_quote(claim.text, passage.text)
    unstated, unnamed = lacking(claim, passage, witnesses)
    return decide.weigh(
        Evidence(
            passage,
            prob_supported=0.0,
            prob_refuted=0.0,
            prob_neutral=1.0,
            score=readout.support,
            quote=quote,
            readout=readout,
            witnesses=witnesses,
            unstated=unstated,
            unnamed=unnamed,
            unsupported=unsupported,
            notes=tuple(_notes(claim.text, passage, quote)),
        )
    )


def _notes(claim: str, passage: Passage, quote: Span | None) -> Iterator[Note]:
    """Yield what the passage's dates, figures and pronouns mean, where the claim states it."""
    for meant in paraphrase.stated_times(passage.text, claim, passage.published):
        words = meant.span.of(passage.text)
        yield Note("relative_time", {"words": words, "date": meant.date})
    for change, other in dict(agreeing(claim, passage.text)).items():
        yield Note("worked_out", {"words": change.words, "how": other.words})
    for referent in referents_in(passage.text, passage.page) if quote else ():
        is_quoted = quote is not None and quote.overlaps(referent.span)
        if is_quoted and referent.name and names.is_in(referent.name, claim):
            words = referent.span.of(passage.text)
            yield Note("referent", {"words": words, "name": referent.name})


def _witnesses(
    claim: Claim, passage: Passage, readout: Readout, contrary: Witness | Span | None
) -> tuple[tuple[Witness, ...], Span | None]:
    """Return what a reader can see for or against support, and the sentence that shows it."""
    is_scan = passage.recognised is not None
    if isinstance(contrary, Witness):
        witness = replace(contrary, kind=WitnessKind.MISREAD) if is_scan else contrary
        return (witness,), contrary.sentence
    witnesses: list[Witness | None] = []
    if contrary and not is_scan and _refutes_alone(claim, passage, contrary):
        witnesses.append(Witness(WitnessKind.NETWORK, sentence=contrary))
    if sigmoid(readout.support) >= QUOTED_FROM:
        witnesses += [
            find_weakening(claim, passage),
            value_of_another(claim.text, passage.text),
            said_by_another(claim.text, passage),
            misattribution(claim, passage),
            narrower(claim.text, passage.text, passage.page, claim.title),
        ]
    seen = tuple(witness for witness in witnesses if witness)
    return seen, next((witness.sentence for witness in seen if witness.sentence), None)


def _refutes_alone(claim: Claim, passage: Passage, contrary: Span) -> bool:
    """Whether a contradiction that only the network reads, in `contrary`, counts."""
    text, sentence = claim.text, contrary.of(passage.text)
    if tables.rows_of(sentence):  # a rule looks up row and column
        return False
    if agreeing(text, passage.text):  # a figure follows from two others: "rose by 5" from 17 and 22
        return False
    states_figures = not quantities.unstated_values(text, sentence)
    figures = [value for value in values_of(text) if not value.weak]
    rivals = [v for v in values_of(sentence) for f in figures[:1] if quantities.conflict(v, f)]
    # Networks take "1.9 with and 2.8 without it" for another finding than "from 2.8 to 1.9".
    if states_figures and len(figures) + len(rivals) > 1:
        return False
    comparison = antonyms.compare(text, sentence)
    if comparison is not None and comparison.agrees and states_figures:
        return False
    differs = comparison is not None and not comparison.agrees
    if (differs or antonyms.contrasts(text, sentence)) and is_of_another_time(text, sentence):
        return False
    # Words tell the topic, except across languages, where the calibration has a bound of its own.
    missing = wording.missing_words(text, f"{passage.about}\n{passage.text}")
    return missing <= ON_TOPIC or calibration.is_across(claim, passage)


def lacking(
    claim: Claim, passage: Passage, witnesses: Sequence[Witness] = ()
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the claim's figures and names that the passage lacks, except those in `witnesses`.

    Words that another reference is cited for are left out.
    """
    text = claim.text
    own = claim.own.of(text) if claim.own else text
    source = f"{passage.about}\n{passage.text}"
    shown = "\n".join(w.claim for w in witnesses if w.kind.effect is Effect.CONTRADICTS)
    figures = [
        quantities.with_hedge(text, value)
        for value in tables.unstated_values(text, source, (claim.language, None))
        if value.span.of(text) not in shown and value.span.of(text) in own
    ]
    missing = names.missing(text, source, claim.language)
    unnamed = names.full_names(
        text, [name for name in missing if name not in shown and name in own]
    )
    return tuple(figures[:MAX_NAMED]), tuple(unnamed[:MAX_NAMED])
