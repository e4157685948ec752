"""The page that goes with an answerer's weights: what it is, what it was made from, how to use it.

For people; programs read the same from `pincite.json`. No text of the data stands in either.
"""

from collections.abc import Mapping
from typing import Any

KIND = "answerer"


def readme(card: Mapping[str, Any]) -> str:
    """The card as Markdown, with the header that the Hugging Face hub reads."""
    merged = bool(card.get("merged"))
    rows, recipe = card["rows"], card["recipe"]
    left_out = "".join(f"* left out: {count} {why}\n" for why, count in rows["left_out"].items())
    return f"""---
base_model: {card["base"]}
library_name: {"transformers" if merged else "peft"}
pipeline_tag: text-generation
tags: [pincite, {"merged" if merged else "lora"}]
---

# An answerer

{"A model" if merged else "An adapter for a model"} that answers a question from the abstracts that
it is given, with a reference behind each statement. Made by `pincite train answerer`. What it
writes may be wrong: `pincite ask` holds every sentence against its references.

* Base: {card["base"]}{", with the adapter worked into its weights" if merged else ""}
* Licence: {card.get("licence", "not stated")}; that of the base applies too
* Data: {card.get("source") or card["data"]}
* Prompt: `answer_question.txt`, fingerprint {card["prompts"]}

## Rows

{rows["learnt_from"]} of {rows["read"]} rows were learnt from.

* {rows["unreadable"]} lines could not be read
* {rows["abstracts_cut"]} abstracts of {rows["with_abstracts_cut"]} rows had no room, none is cited
* {rows["without_reference"]} answers have no reference
{left_out}
## Recipe

{"".join(f"* {key}: {_shown(value)}" + chr(10) for key, value in recipe.items())}"""


def _shown(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
