"""The words of an XML element whose text has marks in it: italics, raised figures, formulas.

Decision hidden here: what becomes of a mark in plain text. Raised figures behind a figure get a
caret (10<sup>6</sup> is 10^6, not 106); others stand as they are written (Ca2+, 3H, CO2). A formula
is a line of signs; one that is only a picture is named as such, so that a gap shows.
"""

from collections.abc import Callable, Iterator
from typing import Any

from pincite.documents.clean import one_line
from pincite.documents.xml.records import local

PICTURE = "[formula]"  # stands for a formula of which there is only a picture
_RAISED = frozenset({"sup", "superscript"})
_FORMULAS = frozenset({"inline-formula", "disp-formula", "DispFormula", "chem-struct"})
_UNREAD = frozenset(
    {"graphic", "inline-graphic", "media", "object-id", "alt-text", "long-desc", "annotation"}
)
_TEX = ("\\begin{document}", "\\end{document}")

Aside = Callable[[Any], bool]


def line_of(element: Any) -> str:
    """The element's words as one line; empty for None."""
    if element is None:
        return ""
    return one_line(element.text if not len(element) else flat(element))


def flat(element: Any, aside: Aside | None = None) -> str:
    """The words in an element as they follow each other, white space as it stands.

    `aside` is shown each element within, and takes those for which it says so: their words are then
    not among these.
    """
    parts: list[str] = []
    _collect(element, parts, aside)
    return "".join(parts)


def _collect(element: Any, parts: list[str], aside: Aside | None) -> None:
    parts.append(element.text or "")
    for child in element:
        name = local(child)
        if aside and aside(child):
            parts.append(" ")
        elif name in _RAISED:
            parts.append(_raised(flat(child, aside), parts, _cites(child)))
        elif name == "xref" and child.get("ref-type") == "bibr" and _is_raised(child):
            parts.append(f"[{one_line(flat(child, aside))}]")
        elif name in _FORMS:
            parts.append(_FORMS[name](child, aside))
        elif name and name not in _UNREAD:
            _collect(child, parts, aside)
        parts.append(child.tail or "")


def _raised(text: str, parts: list[str], cites: bool) -> str:
    """What is raised, made plain; the number of a reference must not become part of a word."""
    if cites:
        return f"[{one_line(text)}]"
    before = next((part for part in reversed(parts) if part), "")
    signs = text.strip().lstrip("+-−–")
    is_power = signs[:1].isdecimal() or (len(signs) == 1 and signs.isalpha())  # not 5<sup>th
    return f"^{text.strip()}" if before[-1:].isdecimal() and is_power else text


def _cites(raised: Any) -> bool:
    return any(local(e) == "xref" and e.get("ref-type") == "bibr" for e in raised.iter())


def _is_raised(reference: Any) -> bool:
    """Whether a reference holds its number as a raised one, and nothing else."""
    return len(reference) == 1 and local(reference[0]) in _RAISED and not reference.text


def _formula(element: Any, aside: Aside | None) -> str:
    """A formula, one that stands in its own line with its number and spaces around it."""
    label = next((child for child in element if local(child) == "label"), None)
    words = flat(element, lambda e: e is label or (aside is not None and aside(e)))
    if not words.strip() and _has_picture(element):
        words = PICTURE
    return f" {line_of(label)} {words} " if local(element) == "disp-formula" else words


def _chosen(alternatives: Any, aside: Aside | None) -> str:
    """Of several forms of the same MathML, else the first that is written in letters."""
    forms = {local(e): e for e in reversed(list(alternatives))}
    if "math" in forms:
        return math(forms["math"])
    if "tex-math" in forms:
        return _tex(forms["tex-math"])
    words = (flat(e, aside) for e in alternatives if local(e) not in ("", *_UNREAD))
    return next(filter(str.strip, words), "")


def _tex(element: Any) -> str:
    """TeX as it is written, without the document around it."""
    tex = "".join(element.itertext())
    body = tex.partition(_TEX[0])[2].partition(_TEX[1])[0] or tex
    return one_line(body.strip().strip("$"))


def _has_picture(element: Any) -> bool:
    return any(local(e) in ("graphic", "inline-graphic", "media") for e in element.iter())


_FORMS: dict[str, Callable[[Any, Aside | None], str]] = {
    **dict.fromkeys(_FORMULAS, _formula),
    "alternatives": _chosen,
    "math": lambda element, aside: math(element) or PICTURE,
    "tex-math": lambda element, aside: _tex(element),
    "break": lambda element, aside: " ",
}


# ── MathML ───────────────────────────────────────────────────────────────────────────────────────


def math(element: Any) -> str:
    r"""A formula as one line: x^2, (a+b)/c, √(x).

    Nothing is lost but what cannot be read aloud; an expression of several signs stands in
    parentheses where its place would else be unclear.
    """
    return one_line(_math(element))


def _math(element: Any) -> str:
    name = local(element)
    if not len(element):
        text = element.text or ""
        return " " if name == "mspace" else text if name == "mtext" else text.strip()
    parts = [_math(child) for child in element if local(child)]
    write = _WRITTEN.get(name)
    return write(parts) if write else "".join(_with_marks(element, name, parts))


def _with_marks(element: Any, name: str, parts: list[str]) -> Iterator[str]:
    if name == "mmultiscripts":
        names = [local(child) for child in element if local(child)]
        at = names.index("mprescripts") if "mprescripts" in names else len(names)
        yield from (*parts[at + 1 :], *parts[:at])
    elif name == "mfenced":
        sign = (element.get("separators") or ",")[:1]
        yield f"{element.get('open', '(')}{sign.join(parts)}{element.get('close', ')')}"
    else:
        yield from parts


def _grouped(text: str) -> str:
    return text if len(text) <= 1 or text.isalpha() or text.isdecimal() else f"({text})"


def _power(base: str, raised: str) -> str:
    return f"{base}^{_grouped(raised)}" if raised.strip("+-−")[:1].isalnum() else base + raised


def _pair(parts: list[str]) -> tuple[str, str]:
    return parts[0], "".join(parts[1:])


_WRITTEN: dict[str, Callable[[list[str]], str]] = {
    "mfrac": lambda parts: "/".join(map(_grouped, parts)),
    "msup": lambda parts: _power(*_pair(parts)),
    "msubsup": lambda parts: _power("".join(parts[:2]), "".join(parts[2:])),
    "msqrt": lambda parts: f"√({''.join(parts)})",
    "mroot": lambda parts: f"{_grouped(parts[0])}^(1/{''.join(parts[1:])})",
    "mtable": "; ".join,
    "mtr": " ".join,
    "mlabeledtr": " ".join,
    "semantics": lambda parts: parts[0],
}
