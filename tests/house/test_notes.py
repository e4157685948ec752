"""What Pincite says to people is data until it is shown: no code reads its own sentences."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from pincite.notes import AS_WRITTEN, ENGLISH

PACKAGE = Path(__file__).parents[2] / "src" / "pincite"
TREES = {
    str(path.relative_to(PACKAGE)): ast.parse(path.read_text(encoding="utf-8"))
    for path in sorted(PACKAGE.rglob("*.py"))
}
READERS = {"server/pages/words.py"}  # of the wordings themselves: the list for translators
# What of a record is English made of notes.
WORDED = {"reasons", "why", "notes", "abstained", "warnings"}
# What takes a text apart, or looks for something in it.
SEARCHES = {
    *("match", "fullmatch", "search", "findall", "finditer", "sub", "subn"),
    *("split", "partition", "rpartition", "startswith", "endswith"),
    *("removeprefix", "removesuffix", "replace", "find", "index"),
}
OF_NOTES = {"said", "texts", "joined"}  # functions that word them
LONG_ENOUGH = 3  # words in a row that a pattern has in common with a wording by no chance


def calls(tree: ast.AST) -> Iterator[ast.Call]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.Call))


def name_of(call: ast.Call) -> str:
    function = call.func
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def places(template: str) -> set[str]:
    return set(re.findall(r"%\((\w+)\)s", template))


def worded(node: ast.AST) -> bool:
    """Whether an expression has a note's English in it."""
    return any(
        (isinstance(each, ast.Attribute) and each.attr in WORDED)
        or (isinstance(each, ast.Call) and name_of(each) in OF_NOTES)
        for each in ast.walk(node)
    )


def searches_in_notes(tree: ast.AST) -> list[str]:
    """Calls that look into a note's English, as source."""
    return [
        ast.unparse(call)
        for call in calls(tree)
        if isinstance(call.func, ast.Attribute)
        and call.func.attr in SEARCHES
        and any(map(worded, (call.func.value, *call.args)))
    ] + [
        ast.unparse(node)
        for node in ast.walk(tree)
        if isinstance(node, ast.Compare)
        and any(isinstance(sign, ast.In | ast.NotIn) for sign in node.ops)
        and any(map(worded, node.comparators))
    ]


def patterns(tree: ast.AST) -> Iterator[str]:
    """The texts, or pieces of them, of which a module makes regular expressions."""
    for call in calls(tree):
        function = call.func
        of_re = isinstance(function, ast.Attribute) and ast.unparse(function.value) == "re"
        for piece in ast.walk(call.args[0]) if of_re and call.args else ():
            if isinstance(piece, ast.Constant) and isinstance(piece.value, str):
                yield piece.value


def runs(text: str) -> set[str]:
    """All runs of `LONG_ENOUGH` words between places and signs."""
    found = set()
    for part in re.split(r"%\(\w+\)s|[^\w' ]", text):
        words = part.split()
        ends = range(LONG_ENOUGH, len(words) + 1)
        found |= {" ".join(words[end - LONG_ENOUGH : end]) for end in ends}
    return found


OURS = set[str]().union(*map(runs, ENGLISH.values()))


def from_notes(tree: ast.AST) -> set[str]:
    """What a module takes from `pincite.notes`."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "pincite.notes":
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.Attribute) and ast.unparse(node.value) == "notes":
            found.add(node.attr)
    return found


def test_no_module_looks_into_what_pincite_wrote() -> None:
    assert {name: found for name, tree in TREES.items() if (found := searches_in_notes(tree))} == {}


def test_no_pattern_is_made_of_what_pincite_writes() -> None:
    for name, tree in TREES.items():
        spaced = [re.sub(r"\\s[+*]?|\\ ", " ", pattern) for pattern in patterns(tree)]
        assert not [run for pattern in spaced for run in OURS if run in pattern], name
    readers = {name for name, tree in TREES.items() if "ENGLISH" in from_notes(tree)}
    assert readers == READERS
    assert not [name for name in (*READERS, "notes.py") if list(patterns(TREES[name]))]


def test_the_rule_sees_what_it_forbids() -> None:
    for code in (
        "_QUOTED.findall(evidence.reasons[0])",
        "re.match('x', str(verdict.why))",
        "answer.abstained.startswith('nothing')",
        "'; '.join(texts(notes)).split('; ')",
        "'1913' in evidence.reasons[0]",
    ):
        assert searches_in_notes(ast.parse(code)), code
    (pattern,) = patterns(ast.parse("re.compile(r'the passage does not state (.+)')"))
    assert [run for run in OURS if run in pattern]
    assert not searches_in_notes(ast.parse("'; '.join(texts(notes))"))


def literals(node: ast.AST) -> set[str]:
    return {
        each.value
        for each in ast.walk(node)
        if isinstance(each, ast.Constant) and isinstance(each.value, str)
    }


def notes_made() -> Iterator[tuple[str, ast.Call]]:
    for name, tree in TREES.items():
        if "Note" in from_notes(tree):
            yield from ((name, call) for call in calls(tree) if name_of(call) == "Note")


def test_every_note_has_words_and_the_values_that_they_ask_for() -> None:
    made = list(notes_made())
    assert len(made) > len(ENGLISH) // 2
    for name, call in made:
        codes = literals(call.args[0])
        assert codes <= set(ENGLISH), (name, codes)
        values = call.args[1] if len(call.args) > 1 else ast.Dict([], [])
        if isinstance(values, ast.Dict):
            keys = {key.value for key in values.keys if isinstance(key, ast.Constant)}
            for code in codes:
                assert places(ENGLISH[code]) == keys, (name, code)


def test_every_code_is_used() -> None:
    used = {text for name, tree in TREES.items() if name != "notes.py" for text in literals(tree)}
    assert set(ENGLISH) - {AS_WRITTEN} <= used
