"""The shipped articles with their sources: invented, and checked without a network."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

ROOT = Path(__file__).parents[1]
Example = Literal["article", "inventor", "vole"]


@dataclass(frozen=True, slots=True)
class Shipped:
    """An article as a file, and the folder of the pages that it cites."""

    title: str
    folder: Path

    @property
    def article(self) -> Path:
        """Wikitext."""
        return self.folder / "article.wiki"

    @property
    def sources(self) -> Path:
        """Stored pages with their manifest."""
        return self.folder / "sources"


EXAMPLES: dict[Example, Shipped] = {
    "article": Shipped("Varrowmouth", ROOT / "demo"),
    "inventor": Shipped("Edda Marrick", ROOT / "demo_more" / "inventor"),
    "vole": Shipped("Saltfen vole", ROOT / "demo_more" / "vole"),
}
