"""Pages made of hostile texts and addresses, and what a browser would see of them."""

from html.parser import HTMLParser

from samples import HOSTILE

URLS = ["javascript:alert(1)", 'https://x.example/|}}{{evil}} "><b>', "data:text/html,<b>x</b>"]
CASES = [(text, "https://varde.example/") for text in HOSTILE] + [("plain", url) for url in URLS]


class Page(HTMLParser):
    """Collects tags, attributes and visible text."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += [(name, value or "") for name, value in attrs]

    def handle_data(self, data: str) -> None:
        self.text += data
