"""`import pincite`: the verbs on plain arguments, what they give, and how a notebook shows it."""

import asyncio
import json
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ask_samples import answer_report, hostile
from check_samples import check_report
from click.testing import CliRunner
from hostile import CASES, Page
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import html
from samples import report as verify_report
from support import laws
from support.check_values import readings

import pincite
from pincite.api import Report, Verifier
from pincite.cli import cli
from pincite.errors import CorpusError, FetchingIsOff, InputError, MissingExtra
from pincite.text.passages import PASSAGE_WORDS
from pincite.types import Claim, Document, Passage, Span
from pincite.verbs.check.report import CheckReport

pytestmark = pytest.mark.xdist_group("api")  # one process: the fixtures are slow

ARTICLE = (
    "The bridge of Varde opened in 1911.<ref>{{cite web |url=https://a.example/ |title=B}}</ref> "
    "It is 80 metres long.<ref>{{cite web |url=https://gone.example/ |title=G}}</ref>"
)
TEXTS = [
    "The bridge of Varde is of stone. It opened in 1911 and a lamp hangs on it.",
    "The market of Varde is held on Tuesdays. The bridge of Varde is 80 metres long.",
]
CLAIM = "The bridge of Varde opened in 1911."


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An article, copies of its sources, and a corpus."""
    folder = tmp_path_factory.mktemp("api")
    (folder / "article.wiki").write_text(ARTICLE)
    (folder / "pages").mkdir()
    page = {"url": "https://a.example/", "title": "Bridge", "text": TEXTS[0]}
    (folder / "pages" / "pages.jsonl").write_text(json.dumps(page))
    with pincite.open_corpus(folder / "kb", write=True) as corpus:
        corpus.add([Document(f"https://{i}.example/", "Varde", t) for i, t in enumerate(TEXTS)])
    return folder


@pytest.fixture(autouse=True)
def folder(kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(kept)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setattr("pincite.runtime.judgements_file", lambda: tmp_path / "judged")
    return kept


def shown(*arguments: str) -> str:
    done = CliRunner().invoke(cli, list(arguments), catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


# ── What is there ────────────────────────────────────────────────────────────────────────────────


def test_every_name_is_found_where_it_is_defined() -> None:
    assert list(pincite.__all__) == sorted(pincite.__all__) == dir(pincite)
    for name in pincite.__all__:
        found = getattr(pincite, name)
        assert getattr(sys.modules[found.__module__], name) is found
        assert found.__doc__


# ── The verbs ────────────────────────────────────────────────────────────────────────────────────

VERBS: list[tuple[Callable[[], Report[Any, Any]], list[str]]] = [
    (
        lambda: pincite.verify("article.wiki", sources="pages", corpus="kb"),
        ["verify", "article.wiki", "--sources", "pages", "--corpus", "kb"],
    ),
    (lambda: pincite.check(CLAIM, "kb"), ["check", CLAIM, "--corpus", "kb"]),
    (
        lambda: pincite.ask("How long is the bridge?", Path("kb")),
        ["ask", "How long is the bridge?", "--corpus", "kb"],
    ),
]


@pytest.mark.parametrize(("verb", "command"), VERBS, ids=["verify", "check", "ask"])
def test_a_verb_finds_what_its_command_finds(
    verb: Callable[[], Report[Any, Any]], command: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "90")
    report = verb()
    assert lasting(report.to_dict()) == lasting(json.loads(shown(*command, "--json", "-")))
    assert lines(str(report)) == lines(shown(*command))
    assert report.to_json() == json.dumps(report.to_dict(), ensure_ascii=False, indent=1) + "\n"


def lasting(report: dict[str, Any]) -> dict[str, Any]:
    """Without what two runs differ in."""
    report.pop("created")
    report.get("usage", {}).pop("seconds", None)
    return report


def lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.splitlines()]


PAGE = "<html><head><title>Varde - Wikipedia</title></head><body><p>It opened.</p></body></html>"


@pytest.mark.parametrize(
    ("article", "title"),
    [
        ("article.wiki", "article"),
        (Path("article.wiki"), "article"),
        (ARTICLE, ""),
        (PAGE, "Varde"),
        (pincite.Article("Given", "", ()), "Given"),
    ],
)
def test_an_article_is_a_file_or_a_text(article: Any, title: str) -> None:
    assert pincite.verify(article).record.title == title


def test_several_are_asked_for_in_one_call() -> None:
    statements = [CLAIM, "The  market\nis on Tuesdays."]
    report = pincite.check(statements, "kb")
    assert [check.statement for check in report.results] == [CLAIM, "The market is on Tuesdays."]
    assert report.record.complete


def test_an_open_corpus_is_used_and_stays_open(monkeypatch: pytest.MonkeyPatch) -> None:
    with pincite.open_corpus("kb") as corpus:
        monkeypatch.setattr("pincite.runtime.encoder", None)  # none is loaded any more
        for report in (
            pincite.verify(ARTICLE, corpus=corpus),
            pincite.check(CLAIM, corpus),
            pincite.ask("How long is the bridge?", corpus),
        ):
            assert report.results
            assert corpus.status().n_documents == len(TEXTS)


@pytest.fixture(scope="module")
def second(kept: Path, tiny_encoder: Path) -> Path:
    """Another corpus, built with another encoder."""
    made, settings = kept / "press", pincite.Settings.of(encoder=str(tiny_encoder))
    with pincite.open_corpus(made, write=True, settings=settings) as corpus:
        text = "The bridge of Gone is 80 metres long. It was measured in 1920."
        corpus.add([Document("https://press.example/", "Press", text)])
    return made


def test_several_corpora_give_results_with_their_names(second: Path, tiny_encoder: Path) -> None:
    corpora, settings = ["kb", "newspapers=press"], pincite.Settings.of(encoder=str(tiny_encoder))
    checked = pincite.check("The bridge is 80 metres long.", corpora, settings=settings)
    items = readings(checked.to_dict())[0]["evidence"]
    names = {item["url"]: item["corpus"] for item in items}
    assert names["https://press.example/"] == "newspapers"
    assert names["https://1.example/"] == "kb"
    again = CheckReport.from_json(checked.to_json()).checks[0].results[0].items
    assert {item.corpus for item in again} == {"kb", "newspapers"}
    by_name = {"kb": "kb", "newspapers": "press"}
    assert pincite.check("The bridge is 80 metres long.", by_name, settings=settings).results
    answered = pincite.ask("How long is the bridge?", corpora, settings=settings)
    references = answered.to_dict()["answers"][0]["references"]
    names = {each["url"]: each["corpus"] for each in references}
    assert {"kb", "newspapers"} == set(names.values())
    verified = pincite.verify(ARTICLE, corpus=corpora, settings=settings)
    suggested = [s for finding in verified.results for s in finding.suggestions]
    assert {s.corpus for s in suggested} == {"kb", "newspapers"}


def test_corpora_of_the_settings_are_searched_where_none_is_named(
    second: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PINCITE_LIBRARY_CORPORA", "kb")
    report = pincite.check(CLAIM)
    assert report.results[0].results[0].items
    assert "library.corpora" not in report.to_dict()["settings"], "folders stand in no report"
    assert shown("check", CLAIM)
    assert any(finding.suggestions for finding in pincite.verify(ARTICLE).results)


def test_settings_are_those_given_or_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PINCITE_VERIFY_K", "5")
    for chosen, k in ((None, 5), (pincite.Settings.of(k=7), 7)):
        assert pincite.verify(ARTICLE, settings=chosen).to_dict()["settings"]["verify.k"] == k


@pytest.mark.parametrize(
    ("wrong", "call"),
    [
        (InputError, lambda: pincite.verify("absent.wiki")),
        (InputError, lambda: pincite.verify(Path("absent"))),
        (InputError, lambda: pincite.verify("\n")),
        (InputError, lambda: pincite.verify("article.wiki", sources="absent")),
        (FetchingIsOff, lambda: pincite.verify("Varde Bridge")),
        (InputError, lambda: pincite.check(" ", "kb")),
        (InputError, lambda: pincite.ask([], "kb")),
        (InputError, lambda: pincite.check(7, "kb")),  # type: ignore[arg-type]
        (InputError, lambda: pincite.ask(["Why?", None], "kb")),  # type: ignore[list-item]
        (CorpusError, lambda: pincite.check(CLAIM, "pages")),
        (CorpusError, lambda: pincite.open_corpus("pages")),
    ],
)
def test_what_cannot_be_done_is_one_of_our_errors(
    wrong: type[Exception], call: Callable[[], object]
) -> None:
    assert issubclass(wrong, pincite.PinciteError)
    with pytest.raises(wrong):
        call()


@pytest.mark.parametrize(
    "call",
    [
        lambda: pincite.verify("article.wiki", sources="pages"),
        lambda: pincite.check([CLAIM, CLAIM], "kb"),
        lambda: pincite.ask(["How long is the bridge?", "Is it long?"], "kb"),
    ],
)
def test_ctrl_c_ends_the_call(call: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> None:
    judged = []

    def interrupted(self: object, rows: object) -> None:
        judged.append(rows)
        raise KeyboardInterrupt

    monkeypatch.setattr("pincite.models.verifier.CrossEncoderVerifier._run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        call()
    assert len(judged) == 1


# ── The verifier ─────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def tiny(tiny_verifier: Path) -> Verifier:
    return Verifier(pincite.Settings.of(verifier=str(tiny_verifier)))


def records(claim: str, text: str) -> tuple[Claim, Passage]:
    return Claim("c", claim), Passage("d", "u", "t", text, Span(0, len(text)))


def test_the_verifier_keeps_the_laws(tiny: Verifier) -> None:
    laws.check_verifier(tiny, [records(CLAIM, text) for text in ("", *TEXTS)])


@settings(max_examples=30)
@given(st.lists(st.tuples(st.text(max_size=40), st.text(max_size=900)), max_size=3))
def test_texts_have_evidence_each_in_order(tiny: Verifier, pairs: list[tuple[str, str]]) -> None:
    found = tiny.verify(pairs)
    assert len(found) == len(pairs)
    for (_, text), evidence in zip(pairs, found, strict=True):
        assert evidence.passage.span.of(text) == evidence.passage.text
        shares = (evidence.prob_supported, evidence.prob_refuted, evidence.prob_neutral)
        assert sum(shares) == pytest.approx(1, abs=1e-4)


FILLER = "The market sells bread and fish in summer. " * (PASSAGE_WORDS // 2)  # eight words each


def test_of_a_long_text_the_best_passage_speaks() -> None:
    text = f"{FILLER}{TEXTS[0]} {FILLER}"
    (evidence,) = Verifier().verify([(CLAIM, text)])
    assert evidence.prob_supported > 0.5
    assert evidence.quoted in TEXTS[0]
    assert len(evidence.passage.text) < len(text) / 3


def test_a_year_that_stands_elsewhere_in_the_text_is_not_denied() -> None:
    claim, text = "The bridge of Varde opened in 1913.", f"{CLAIM} {FILLER}"
    denied, open_ = Verifier().verify([(claim, text), (claim, f"{text} The mill fell in 1913.")])
    assert denied.prob_refuted > 0.5
    assert open_.prob_refuted == 0


# ── Reports ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("text", "url"), CASES)
def test_nothing_leaves_the_frame_of_a_notebook_and_a_printed_report_obeys_nothing(
    text: str, url: str
) -> None:
    records = (verify_report(text, url), check_report(text, url), answer_report(hostile(text, url)))
    for record in records:
        report: Report[Any, Any] = Report(record, ())
        assert "\x1b" not in str(report)
        assert text not in repr(report)
        (frame,) = html.fragments_fromstring(report._repr_html_())
        assert isinstance(frame, html.HtmlElement)
        assert (frame.tag, frame.tail, len(frame)) == ("iframe", None, 0)
        assert set(frame.keys()) == {"title", "sandbox", "style", "srcdoc"}
        sandbox = {"allow-popups", "allow-popups-to-escape-sandbox"}
        assert set(frame.get("sandbox", "").split()) == sandbox
        framed = Page(frame.get("srcdoc", ""))
        assert framed.tags == Page(report.to_html()).tags
        assert not set(framed.tags) & {"script", "base", "iframe", "form"}
        assert not [name for name, _ in framed.attributes if name.startswith("on")]


# ── Progress and data frames ─────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda tell: pincite.verify(ARTICLE, progress=tell), ("checking claims", 2, 2)),
        (
            lambda tell: pincite.check([CLAIM] * 2, "kb", progress=tell),
            ("checking statements", 1, 2),
        ),
        (lambda tell: pincite.check(CLAIM, "kb", progress=tell), ("judging passages", 2, 2)),
        (
            lambda tell: pincite.ask("How long is the bridge?", "kb", progress=tell),
            ("answering questions", 0, 1),
        ),
    ],
)
def test_progress_is_told(call: Callable[[Any], object], told: tuple[str, int, int]) -> None:
    heard: list[object] = []
    call(lambda *step: heard.append(step))
    assert told in heard


def test_a_frame_without_pandas_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    report = pincite.verify(ARTICLE)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtra, match="pip install pandas"):
        report.to_frame()


@pytest.mark.parametrize("name", ["verify", "check", "ask"])
def test_event_loop_stays_free_and_the_report_is_the_same(name: str) -> None:
    given = ("article.wiki",) if name == "verify" else (CLAIM, "kb")
    others_ran, waited = threading.Event(), list[bool]()

    async def run() -> Any:
        call: asyncio.Task[Any] = asyncio.create_task(
            getattr(pincite, f"a{name}")(
                *given, progress=lambda *n: waited.append(others_ran.wait(60))
            )
        )
        await asyncio.sleep(0)  # the call's turn: only then does anything else run
        others_ran.set()
        return await call

    report = asyncio.run(run())
    assert all(waited)
    assert report.results == getattr(pincite, name)(*given).results


def test_cancelled_call_raises_at_once_and_ends_at_its_next_step() -> None:
    started, goes_on, tasks = threading.Event(), threading.Event(), list[str]()

    def progress(task: str, n_done: int, n_all: int | None) -> None:
        tasks.append(task)
        started.set()
        goes_on.wait(60)

    async def run() -> None:
        call = asyncio.create_task(
            pincite.averify("article.wiki", sources="pages", progress=progress)
        )
        await asyncio.to_thread(started.wait, 60)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        goes_on.set()

    asyncio.run(run())  # ends when all threads have
    assert len(tasks) == 1
