import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.rows import each_row
from text.test_sentences import check_spans

from pincite.judgement.contradictions import contradiction
from pincite.text import antonyms, clauses, names, words
from pincite.text.languages import common, identify, terms
from pincite.text.passages import PASSAGE_WORDS, WIDE_WORDS, cited_passages, passages
from pincite.text.quantities import unstated_values
from pincite.text.sentences import n_words
from pincite.types import Claim, Document, Passage

# Two to four sentences in each language, and a claim that the first one states.
TEXTS = {
    "de": ["Die Brücke am Hafen wurde 1911 eröffnet. ", "Im 2. Stock gibt es z. B. kein Licht. "],
    "fr": ["Le pont du port a été ouvert en 1911. ", "Il n'a pas de toit, selon M. Roux. "],
    "es": ["El puente del puerto se abrió en 1911. ", "¿Quién lo vio? Nadie lo sabe con certeza. "],
    "it": ["Il ponte del porto è stato aperto nel 1911. ", "Non ha un tetto, dice il dott. Neri. "],
    "pt": ["A ponte do porto foi aberta em 1911. ", "Não tem telhado, mas é muito alta. "],
    "nl": ["De brug bij de haven is in 1911 geopend. ", "Er is geen dak, maar ze is hoog. "],
    "pl": ["Most przy porcie został otwarty w 1911 roku. ", "Nie ma dachu, ale jest wysoki. "],
    "ru": ["Мост у порта был открыт в 1911 г. ", "У него нет крыши, но он высокий. "],
    "ja": ["港の橋は1911年に開通した。", "屋根はないが、とても高い。「本当か？」と彼は尋ねた。"],
    "zh": ["港口大桥于1911年通车。", "它没有屋顶，但是很高。"],
    "th": ["สะพานที่ท่าเรือเปิดใช้ในปี พ.ศ. 2454 โดยพระมหากษัตริย์ ", "ไม่มีหลังคาแต่สูงมาก "],
    "ar": ["افتتح الجسر عند الميناء عام 1911. ", "ليس له سقف، لكنه مرتفع جدا. "],
    "hi": ["बंदरगाह का पुल 1911 में खुला। ", "इसकी छत नहीं है, पर यह बहुत ऊँचा है। "],
    "ko": ["항구의 다리는 1911년에 개통되었다. ", "지붕은 없지만 매우 높다. "],
    "km": ["ស្ពាននៅកំពង់ផែបានបើកក្នុងឆ្នាំ១៩១១។", "វាគ្មានដំបូលទេ ប៉ុន្តែខ្ពស់ណាស់។"],
    "el": ["Η γέφυρα στο λιμάνι άνοιξε το 1911. ", "Δεν έχει στέγη, αλλά είναι ψηλή. "],
}


@pytest.mark.parametrize("language", TEXTS)
def test_each_language_is_identified(language: str) -> None:
    assert {identify(text) for text in TEXTS[language]} == {language}
    assert common(*TEXTS[language]) == language


@each_row("text/languages/in_doubt_a_text_has_its_declared_language")
def test_in_doubt_a_text_has_its_declared_language(
    text: str, declared: str | None, expected: str | None
) -> None:
    assert identify(text, declared) == expected


def test_terms_keep_vowel_signs_and_drop_articles() -> None:
    assert terms("हिन्दी में المدينة 서울에서") == ["हिन्दी", "में", "مدينة", "서울", "울에", "에서"]


@given(
    st.sampled_from(sorted(TEXTS)),
    st.lists(st.sampled_from([0, 1, 2]), min_size=1, max_size=60),
    st.booleans(),
)
def test_spans_slice_and_passages_keep_their_size(
    language: str, order: list[int], declared: bool
) -> None:
    text = "".join([*TEXTS[language], "\n"][n] for n in order)
    document = Document("u", "", text, language=language if declared else None)
    check_spans(text, words.sentences_of(text))
    for cut, most in ((passages, PASSAGE_WORDS), (cited_passages, WIDE_WORDS)):
        for passage in cut(document):
            assert passage.span.of(text) == passage.text
            assert n_words(passage.text) <= most
            assert passage.language == language


@pytest.mark.parametrize("language", TEXTS)
def test_the_sentence_that_states_a_claim_is_quoted(language: str) -> None:
    claim, other = TEXTS[language]
    quote = words.quoted_sentence(claim, other + claim)
    assert quote
    assert quote.of(other + claim) == claim.strip()


def test_another_year_is_not_quoted_from_a_source_in_another_language() -> None:
    page = "Die Fähre verkehrte seit dem Jahr 1712 und war teuer."
    assert words.best_quote("A toll was due until 1932.", page) is None


def test_short_english_claim_is_not_read_in_its_sources_language() -> None:
    assert not unstated_values("It opened on 1 May 1904.", "Sie wurde am 1. Mai 1904 eröffnet.")
    assert common("It has 4,250 members.", "Die Brücke ist 4,25 Meter breit und sehr alt.") == ""


def test_a_second_sentence_is_quoted_only_for_whole_words() -> None:
    page = "冬は一般公開されていない。「灯台は誇りです。」と町長は述べた。"
    found = words.best_quote("灯台は冬にも一般公開されている。", page)
    assert found is not None
    assert found.of(page) == "冬は一般公開されていない。"


def test_a_line_without_spaces_is_cut() -> None:
    text = "港口" * 2_000
    assert all(n_words(p.text) <= PASSAGE_WORDS for p in passages(Document("u", "", text)))


@each_row("text/languages/rules_for_english_words_are_silent_elsewhere")
def test_rules_for_english_words_are_silent_elsewhere(claim: str, source: str) -> None:
    assert contradiction(Claim.alone(claim), Passage.alone(source)) is None
    assert antonyms.contrasts(claim, source) == []
    if identify(claim) != "en":
        assert len(clauses.clauses(claim)) == 1
    if identify(source) != "ru":
        assert names.missing(claim, source) == []


def test_names_match_in_other_cases_and_negations_in_other_languages() -> None:
    polish = "Warszawa: to most dla Anna, nie ma."
    assert names.missing("Most w Warszawie jest od Anny.", polish) == []
    french = "Le pont est de Ravn."
    assert names.missing("Le pont de Varde est de Holm.", french) == ["Varde", "Holm"]
    for text in ("Sie ist nicht alt und nie neu.", "Non è vero, ma è bello.", "橋は開かなかった。"):
        assert words.is_negated(text)
    assert not words.is_negated("A ponte fica no porto e na cidade.")
