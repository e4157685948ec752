"""What abstracts say of their studies, read by rules."""

from dataclasses import replace

import pytest

from pincite.types import Document
from pincite.verbs.ask.abstract import Stated
from pincite.verbs.ask.stance import effects_on
from pincite.verbs.ask.studies import ages, fits, has_design, study_of

TRIAL = Document(
    "https://a.example/1",
    "Lactobacillus against colds in nursing home residents",
    "BACKGROUND: An earlier trial in 99 patients found an odds ratio of 0.50. METHODS: We randomly "
    "assigned 640 residents over 65 years of age of 21 nursing homes to Lactobacillus or placebo. "
    "RESULTS: Colds were as frequent (risk ratio 0.98, 95% CI 0.84-1.14; p=0.78). CONCLUSIONS: "
    "Lactobacillus did not prevent colds.",
    language="en",
    meta={"publication_type": "Journal Article; Randomized Controlled Trial"},
)


def text_of(stated: Stated | None) -> str:
    return stated.text if stated else ""


def test_every_value_stands_where_its_span_says() -> None:
    study = study_of(TRIAL)
    wholes = {
        "text": TRIAL.text,
        "title": TRIAL.title,
        "publication_type": TRIAL.meta["publication_type"],
    }
    stated = [study.design, study.population, study.patients, *study.effects]
    assert all(stated)
    for each in filter(None, stated):
        assert each.span.of(wholes[each.of]) == each.text
        assert each.text in each.within.of(wholes[each.of])


def test_a_study_is_read_without_what_its_abstract_says_of_others() -> None:
    study = study_of(TRIAL)
    assert text_of(study.design) == "Randomized Controlled Trial"
    assert text_of(study.patients) == "640 residents"
    assert text_of(study.population) == "residents over 65 years of age of 21 nursing homes"
    assert [each.text for each in study.effects] == ["risk ratio 0.98, 95% CI 0.84-1.14; p=0.78"]


COHORT = "In a prospective cohort study we followed 21,640 adults (HR 1.13, 95% CI 1.03-1.24)."
POOLED = "We pooled thirteen trials (n = 34,112). The pooled risk ratio was 1.00; P = .9."
PAIRS = "We interviewed 12 women with asthma and 13 controls; scores were 24.7% vs 14.7%."
SCREENED = "Of 340 infants screened, 120 were randomised to drops or placebo."
SUBGROUP = "We examined 80 women (OR 0.60). In the subgroup of smokers it was OR 0.20."
GROUPS = "We examined type 2 diabetes patients or their records in group 2 adults."


@pytest.mark.parametrize(
    ("text", "design", "patients", "effect"),
    [
        (COHORT, "prospective cohort study", "21,640 adults", "HR 1.13, 95% CI 1.03-1.24"),
        (POOLED, "", "n = 34,112", "pooled risk ratio was 1.00; P = .9"),
        (PAIRS, "", "12 women with asthma and 13 controls", "24.7% vs 14.7%"),
        (GROUPS, "", "", ""),
        (SCREENED, "randomised", "120", ""),
        ("We screened 340 infants; 118 infants were analysed.", "", "118 infants", ""),
        ("Those with asthma (n=255) wheezed less.", "", "n=255", ""),
        ("Wheezing was rarer in one group (n=25) than in the other (n=26).", "", "", ""),
        (
            "In 96 adults who were given tea, 58% slept. It was rarer in smokers.",
            "",
            "96 adults",
            "",
        ),
        ("We gave tea to 36 male Varde white rabbits.", "", "36 male Varde white rabbits", ""),
        ("We gave tea to 12 male and 9 female rats.", "", "12 male and 9 female rats", ""),
        (SUBGROUP, "", "80 women", "OR 0.60"),
        ("This is a secondary analysis of a randomised trial.", "secondary analysis", "", ""),
        ("The bridge was opened in 1911 by 14 ministers.", "", "", ""),
    ],
)
def test_values_are_copied_or_missing(text: str, design: str, patients: str, effect: str) -> None:
    study = study_of(replace(TRIAL, title="", text=text, meta={}))
    effects = [each.text for each in study.effects]
    found = text_of(study.design), text_of(study.patients), *effects
    assert found == ((design, patients, effect) if effect else (design, patients))


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("women aged 50 and older", (50, 120)),
        ("children under 5 years", (0, 5)),
        ("mean age 83.1 years", (68.1, 98.1)),
        ("people over 65", (65, 120)),
        ("patients over 12 weeks", None),
    ],
)
def test_ages(words: str, expected: tuple[float, float] | None) -> None:
    found = ages(words)
    assert found == (pytest.approx(expected) if expected else None)


def test_a_population_is_not_cut_inside_a_range() -> None:
    text = "We gave it to 212 adults with 4 to 14 migraine days to see whether it helped."
    study = study_of(replace(TRIAL, title="", text=text, meta={}))
    assert text_of(study.population) == "adults with 4 to 14 migraine days"


def test_a_population_is_left_out_where_it_would_be_cut() -> None:
    text = "Thirty volunteers with normal, mildly or severely reduced hearing received tea."
    assert study_of(replace(TRIAL, title="", text=text, meta={})).population is None
    text = "In 96 adults with asthma who were prescribed tea, 58% slept. It was rarer in smokers."
    study = study_of(replace(TRIAL, title="", text=text, meta={}))
    assert text_of(study.population) == "adults with asthma"


def test_effects_are_those_on_the_outcome_asked_for() -> None:
    text = (
        "We randomised 900 adults to velorin or warfarin. The primary outcome was stroke. "
        "The primary outcome was rarer (hazard ratio 0.75). Bleeding was rarer (hazard ratio 0.70)."
        " Falls (HR 0.9) and death (HR 0.8) did not differ."
    )
    trial = replace(TRIAL, title="Velorin for stroke", text=text)

    def found(question: str) -> list[str]:
        return [each.text for each in effects_on(question, trial, study_of(trial))]

    assert found("Does velorin reduce stroke compared with warfarin?") == ["hazard ratio 0.75"]
    assert found("What is the hazard ratio for bleeding with velorin?") == ["hazard ratio 0.70"]
    assert found("Does velorin prevent falls?") == ["HR 0.9"]
    assert not found("Does velorin reduce stroke compared with apixaban?")
    assert not found("Does velorin reduce pain?")


def test_a_study_of_all_ages_is_no_study_of_one() -> None:
    adults = replace(TRIAL, title="Tea in adults", text="We gave tea to 80 adults.")
    assert fits("Does it help older people?", adults) is None
    working = replace(TRIAL, title="Tea", text="We gave tea to 80 adults aged 18 to 50 years.")
    assert fits("Does it help older people?", working) is False


def test_a_study_has_the_design_that_a_question_names() -> None:
    question = "How many people took part in the meta-analysis of tea?"
    assert has_design(question, replace(TRIAL, title="Tea: a meta-analysis"))
    assert not has_design(question, replace(TRIAL, title="Tea: a randomised trial"))
    assert has_design("How many people drank tea?", TRIAL)


def test_a_study_fits_if_most_of_its_ages_were_asked_for() -> None:
    assert fits("Does it help older people?", TRIAL) is True
    assert fits("Does it help children?", TRIAL) is False
    assert fits("Does it help?", TRIAL) is None
