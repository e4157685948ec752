"""Time, memory and prompts of `ask` over long documents, all of them invented.

    python research/scripts/bench_ask.py FOLDER [--url http://localhost:8080/v1 --model NAME --key KEY]

FOLDER gets a corpus of a PDF of 300 pages, a JATS article of 1 MB and 38 abstracts, unless it has
one. Four questions are asked without a model, then of a server that counts the tokens of what it is
sent with the encoder's tokenizer; with --url of that one, whose own counts are shown.
"""

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from pincite.models import weights
from pincite.protocols import Usage
from pincite.settings import Settings
from pincite.verbs.ask import build

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))
from documents.builders import paragraph_lines, pdf
from models.chat_server import Server, good, serving

N_PAGES, N_PARAGRAPHS, N_ABSTRACTS = 300, 1_500, 38
# Of a model all 40 documents are asked, though two have nine in ten of the passages.
EVERYTHING: Any = {"documents": 40, "rerank": False, "least_relevance": -99.0}
DEPTH = 4_000
DRUGS = "velorin amarel quintol sedaxin pirenal".split()
THINGS = (
    "migraine days|blood pressure|hours of sleep|attacks of asthma|weight of the patients|"
    "pain after surgery|length of stay|level of iron|risk of falls|relapses|dose of insulin"
).split("|")
GROUPS = "adults women children nurses runners farmers smokers pilots".split()
QUESTIONS = [f"Does velorin reduce the {thing}?" for thing in (THINGS[0], THINGS[1])] + [
    "How does amarel change the hours of sleep of nurses?",
    "What is the effect of quintol on the risk of falls?",
]


def sentence(rng: random.Random) -> str:
    """A finding, a method or a remark of some paper."""
    drug, thing, group = rng.choice(DRUGS), rng.choice(THINGS), rng.choice(GROUPS)
    n, ref = rng.randint(2, 90), rng.randint(1, 99)
    return rng.choice(
        (
            f"In {group} {drug} reduced the {thing} by {n} % compared with placebo [{ref}].",
            f"We recruited {n} {group} in {n % 9 + 2} centres to measure the {thing} each week.",
            f"No difference of the {thing} was seen between {drug} and placebo in {group}.",
            f"The {thing} of {group} had been studied before by others [{ref}, {ref + 1}].",
            f"A higher dose of {drug} did not change the {thing} any further after {n} days.",
        )
    )


def paragraph(rng: random.Random) -> str:
    """Eight sentences."""
    return " ".join(sentence(rng) for _ in range(8))


def article(rng: random.Random) -> str:
    """A full text as PMC and PLOS have it."""
    body = "".join(f"<p>{paragraph(rng)}</p>" for _ in range(N_PARAGRAPHS))
    return (
        '<article article-type="research-article"><front><article-meta>'
        '<article-id pub-id-type="doi">10.9999/long</article-id><title-group><article-title>Five '
        f"drugs in eight groups</article-title></title-group><abstract><p>{paragraph(rng)}</p>"
        f"</abstract></article-meta></front><body><sec><title>All</title>{body}</sec></body>"
        "</article>"
    )


def wrapped(text: str, width: int = 90) -> Iterator[str]:
    """The lines of a page."""
    line = ""
    for word in text.split():
        if len(line) + len(word) > width:
            yield line
            line = ""
        line = f"{line} {word}".strip()
    yield line


def made(folder: Path) -> Path:
    """The corpus in a folder, made if there is none; what that took is printed."""
    corpus = folder / "corpus"
    rng = random.Random(21)  # noqa: S311 - invented text
    if corpus.exists():
        return corpus
    folder.mkdir(parents=True, exist_ok=True)
    pages = [[list(wrapped(paragraph(rng))) for _ in range(4)] for _ in range(N_PAGES)]
    (folder / "long.pdf").write_bytes(pdf([paragraph_lines(page) for page in pages]))
    (folder / "long.xml").write_text(article(rng), encoding="utf-8")
    abstracts = [
        {"url": f"https://papers.example/{n}", "title": f"Trial {n}", "text": paragraph(rng)}
        for n in range(N_ABSTRACTS)
    ]
    lines = "".join(json.dumps(each) + "\n" for each in abstracts)
    (folder / "abstracts.jsonl").write_text(lines)
    files = [str(folder / name) for name in ("long.pdf", "long.xml", "abstracts.jsonl")]
    add = [sys.executable, "-m", "pincite", "corpus", "add", str(corpus), *files, "-q"]
    subprocess.run(add, check=True)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"corpus add: {used.ru_utime + used.ru_stime:.0f} CPU-s, {used.ru_maxrss >> 10} MB")
    return corpus


def asked(settings: Settings, corpus: Path, server: Server | None, count: Tokenizer) -> None:
    """A line for each question."""
    with build.asking(settings, corpus, keep=False) as run:
        print(f"{run.pipeline.writer.fingerprint}, prompts of {settings.ask.prompt_tokens} tokens")
        before = Usage()
        for question in QUESTIONS:
            began = time.process_time()
            answer = run.pipeline.ask(question)
            seconds, sent = time.process_time() - began, ""
            if run.calls:
                usage = sum((calls.usage for calls in run.calls), Usage())
                sent = f", {usage.n_prompt_tokens - before.n_prompt_tokens} tokens by its count"
                before = usage
            if server:
                messages = [each["content"] for each in server.asked[-1]["messages"]]
                n_tokens = sum(len(each.ids) for each in count.encode_batch(messages))
                sent = f", {n_tokens} tokens on the wire"
            size = sum(len(reference.document.text) for reference in answer.references)
            print(
                f"  {seconds:.1f} CPU-s, {len(answer.references)} references with {size:,} "
                f"characters, {len(answer.sentences)} sentences{sent} {answer.failure}"
            )
    print(f"  peak {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10} MB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--url")
    parser.add_argument("--model", default="scripted")
    parser.add_argument("--key", default="")
    parser.add_argument("--tokens", type=int, nargs="+", default=[1_500, 6_000, 32_000])
    given = parser.parse_args()
    corpus = made(given.folder)
    count = Tokenizer.from_file(str(weights.locate(weights.ENCODER) / "tokenizer.json"))
    count.no_truncation()
    extract = Settings()
    if given.url:
        os.environ["PINCITE_CHAT_KEY"] = given.key
    else:
        asked(extract, corpus, None, count)
    with serving() as server:
        server.answers = [good("It was reduced in adults [1]. It was not in women [2].")]
        chat = replace(extract.chat, url=given.url or server.url, model=given.model)
        for tokens in given.tokens:
            ask = replace(extract.ask, answer="model", prompt_tokens=tokens, **EVERYTHING)
            search = replace(extract.retrieval, depth=DEPTH)
            settings = replace(extract, ask=ask, chat=chat, retrieval=search)
            asked(settings, corpus, None if given.url else server, count)


if __name__ == "__main__":
    main()
