"""Items of studies that were made up."""

from typing import Any

from pincite_study.items import Item, Source
from pincite_study.studies import Plan, Study, StudyStore


def source(name: str, number: int, score: float, *, text: bool = True) -> Source:
    """A source whose every word tells which it is."""
    quote = f"{name} quote {number}."
    passage = f"Before. {quote} See https://{name}.example/page/{number} or {name}.example."
    around = f"{name} begins. {passage} {name} ends."
    return Source(
        url=f"https://www.{name}.example/page/{number}",
        title=f"Title of {name} {number}",
        score=score,
        passage=passage,
        quote=(8, 8 + len(quote)),
        text=around if text else "",
        start=around.index(passage) if text else 0,
    )


def item(number: int, score: float = -3.25, *, given: Any = None) -> Item:
    values: dict[str, Any] = {
        "claim_id": f"{number:012}",
        "article": "Varde",
        "article_url": "https://wiki.example/Varde?oldid=7",
        "section": ("History", "Bridge"),
        "before": "The town has a river.",
        "claim": f"The bridge number {number} was opened in 1911.",
        "baseline": source("oldsite", number, score),
        "tested": source("newsite", number, 1.4375),
    }
    return Item(**(values | (given or {})))


def study(store: StudyStore, n: int = 4, owner: str = "local", **plan: Any) -> Study:
    items = [item(number, -0.5 * number) for number in range(1, n + 1)]
    return store.create(owner, Plan("Bridges", **plan), items)
