"""Reports in notebooks."""

import html

_HEIGHT = "40rem"  # height of a report: a screen, less the cell above it
# In a frame, in-page links would load the notebook, and most sites refuse to be framed. Only our
# templates contain these attributes: quotation marks in article text are escaped.
_LINKS = (
    ('href="#', 'href="about:srcdoc#'),
    ('rel="noreferrer nofollow noopener"', 'rel="noreferrer nofollow noopener" target="_blank"'),
)
_SANDBOX = "allow-popups allow-popups-to-escape-sandbox"  # no scripts, no forms, no same origin


def framed(page: str) -> str:
    """Put the page into a sandboxed frame, which isolates its style and blocks scripts."""
    for on_a_page, in_a_frame in _LINKS:
        page = page.replace(on_a_page, in_a_frame)
    whole = html.escape(page.encode("utf-8", "replace").decode("utf-8"))
    style = f"width: 100%; height: {_HEIGHT}; border: 0"
    frame = f'<iframe title="Report" sandbox="{_SANDBOX}" style="{style}"'
    return f'{frame} srcdoc="{whole}"></iframe>'
