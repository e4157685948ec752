"""Splits a pasted text, or a file, into its statements or questions."""

import re

from pincite.text.clauses import Standing, standing

# Bullets and numbers of a list: "-", "•", "2.", "(b)".
_MARK = re.compile(r"(?:(?:[-*•‣–—]|\(?(?:\d{1,3}|[a-z])[.)])\s+)+(?=\S)")
# The end of a sentence, with closing quotation marks, brackets and footnote marks after it.
_END = re.compile(r"[.!?…。！？؟।][\"'”’»›)\]」』]*(?:\[\w{1,4}\])*$")


def items(text: str) -> list[str]:
    r"""Return the statements or questions of a text, each on one line.

    A line that does not end like a sentence continues on the next one, since pasted text is often
    wrapped, unless that begins with a capital letter and would have fitted on the line. If no line
    ends like a sentence, each line is an item, as in a list of headlines, unless it begins with a
    small letter. A blank line or the mark of a list always begins an item. The heading of the
    text, neither marked nor a clause, is no item if all others end like sentences.

    >>> items("The mill closed in\n1950.\nThe bridge opened.")
    ['The mill closed in 1950.', 'The bridge opened.']
    """
    lines = [" ".join(line.split()) for line in text.splitlines()]
    is_list = sum(bool(_MARK.match(line)) for line in lines) > 1
    has_ends = any(map(_END.search, lines))
    width = max(map(len, lines), default=0)
    statements, first_is_marked = list[str](), False
    is_open, previous = False, 0  # whether the next line may continue the last item; its length
    for line in lines:
        mark = _MARK.match(line) if is_list else None
        piece = line[mark.end() :] if mark else line
        if not re.search(r"\w", piece):
            is_open = False
            continue
        would_have_fitted = previous + 1 + len(piece.split()[0]) < width and piece[0].isupper()
        may_continue = is_open and not mark and not would_have_fitted
        if may_continue and (has_ends or piece[0].islower()):
            statements[-1] += f" {piece}"
        else:
            first_is_marked = first_is_marked or bool(mark and not statements)
            statements.append(piece)
        is_open, previous = not _END.search(piece), len(line)
    first, others = statements[:1], statements[1:]
    if not others or first_is_marked or _END.search(first[0]) or not all(map(_END.search, others)):
        return statements
    return others if standing(first[0]) is Standing.FRAGMENT else statements


def items_of_file(text: str) -> list[str]:
    """Return the items of a file as `items` does; a comment (#) counts as a blank line."""
    return items("\n".join("" if line.startswith("#") else line for line in text.splitlines()))


def lines(text: str) -> list[str]:
    """Return the lines of a file, without empty ones and comments (#)."""
    trimmed = (" ".join(line.split()) for line in text.splitlines())
    return [line for line in trimmed if line and not line.startswith("#")]
