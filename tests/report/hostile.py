"""Hostile texts and addresses, and a page as a browser reads it."""

from html.parser import HTMLParser

from samples import HOSTILE

URLS = ["javascript:alert(1)", 'https://x.example/|}}{{evil}} "><b>', "data:text/html,<b>x</b>"]
CASES = [(text, "https://varde.example/") for text in HOSTILE] + [("plain", url) for url in URLS]


class Page(HTMLParser):
    """Collects tags, attributes, visible text and marked text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.text = ""
        self.marked: list[str] = []
        self._is_marked = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        if tag == "mark":
            self.marked.append("")
            self._is_marked = True

    def handle_endtag(self, tag: str) -> None:
        self._is_marked = self._is_marked and tag != "mark"

    def handle_data(self, data: str) -> None:
        self.text += data
        if self._is_marked:
            self.marked[-1] += data

    def all(self, name: str) -> list[str]:
        """The values of an attribute."""
        return [value for attribute, value in self.attributes if attribute == name]

    @property
    def links(self) -> list[str]:
        return self.all("href") + self.all("src")
