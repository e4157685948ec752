"""A PDF writer of a few lines, and writers of ZIP files and of web archives."""

import gzip
import io
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from pincite.documents.body import Limits
from pincite.documents.collection import collect
from pincite.types import Document, Unchecked

# Left, baseline, text and, unless it is 10, the font size; or operators of a page's content.
Line = tuple[float, float, str] | tuple[float, float, str, float] | str


def paragraph_lines(paragraphs: Sequence[Sequence[str]], top: float = 760) -> list[Line]:
    """Paragraphs of lines, 12 points apart, with 24 points between paragraphs."""
    lines, height = list[Line](), top
    for paragraph in paragraphs:
        for text in paragraph:
            lines.append((72.0, height, text))
            height -= 12
        height -= 12
    return lines


def pdf(
    pages: Sequence[Sequence[Line]], info: str = "", encrypt: str = "", catalog: str = ""
) -> bytes:
    """A PDF with one page per list of lines; `encrypt` is the content of an /Encrypt dictionary.

    `catalog` is put into the catalog, as /PageLabels.
    """
    kids = " ".join(f"{5 + 2 * i} 0 R" for i in range(len(pages)))
    objects = [
        f"<< /Type /Catalog /Pages 2 0 R {catalog} >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
        f"<< {info} >>",
    ]
    for i, lines in enumerate(pages):
        objects.append(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources "
            f"<< /Font << /F1 3 0 R >> >> /Contents {6 + 2 * i} 0 R >>"
        )
        stream = "\n".join(line if isinstance(line, str) else show(*line) for line in lines)
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
    return assembled_pdf(objects, encrypt)


def pdf_of(pages: Sequence[Sequence[Sequence[str]]], info: str = "") -> bytes:
    """A PDF of pages of paragraphs of lines."""
    return pdf([paragraph_lines(page) for page in pages], info)


def locked_pdf() -> bytes:
    """A PDF whose password is not empty: the hashes in it fit none."""
    secret = "<" + "5a" * 32 + ">"
    return pdf(
        [[(72, 700, "secret")]],
        encrypt=f"/Filter /Standard /V 1 /R 2 /O {secret} /U {secret} /P -4",
    )


def show(left: float, baseline: float, text: str, size: float = 10) -> str:
    escaped = text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")
    return f"BT /F1 {size} Tf {left} {baseline} Td ({escaped}) Tj ET"


def show_raised(left: float, baseline: float, *texts: str) -> str:
    """Texts on a line, every second of which is raised and small."""
    shown = "".join(
        f"/F1 {6 if n % 2 else 10} Tf {4 * (n % 2)} Ts ({text}) Tj " for n, text in enumerate(texts)
    )
    return f"BT {left} {baseline} Td {shown}ET"


def assembled_pdf(objects: list[str], encrypt: str = "") -> bytes:
    out, offsets = "%PDF-1.4\n", []
    for number, content in enumerate(objects, start=1):
        offsets.append(len(out))
        out += f"{number} 0 obj\n{content}\nendobj\n"
    start = len(out)
    out += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n"
    out += "".join(f"{offset:010d} 00000 n \n" for offset in offsets)
    locked = f"/Encrypt << {encrypt} >> /ID [<{'00' * 16}> <{'00' * 16}>]" if encrypt else ""
    out += f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R /Info 4 0 R {locked} >>\n"
    return f"{out}startxref\n{start}\n%%EOF\n".encode("latin-1")


def zipped(parts: Mapping[str, str | bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return file.getvalue()


def warc_record(
    url: str, body: bytes, http: str = "200 OK", kind: str = "response", **extra: str
) -> bytes:
    """One packed record: an HTTP answer of this status line and headers; "" for none of HTTP."""
    headers = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in extra.items())
    payload = f"HTTP/1.1 {http}\r\n{headers}\r\n".encode() + body if http else body
    outer = "Content-Type: application/http\r\n" if http else headers
    warc = (
        f"WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Target-URI: {url}\r\n"
        "WARC-Date: 2020-05-06T07:08:09Z\r\nWARC-Record-ID: <urn:uuid:1>\r\n"
        f"{outer}Content-Length: {len(payload)}\r\n\r\n"
    )
    return gzip.compress(warc.encode() + payload + b"\r\n\r\n")


def read_as_file(
    folder: Path, content: str | bytes, name: str = "p.xml", **limits: int
) -> list[Document | Unchecked]:
    """Write content to a file, packed if `name` ends in .gz, and read it as a collection."""
    data = content.encode() if isinstance(content, str) else content
    path = folder / name
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    collection = collect([path], Limits(**limits))
    return [found for piece in collection.pieces for found in collection.read(piece)]


def pubmed_record(
    pmid: int, text: str = "It rang.", title: str = "Bells.", version: int = 1
) -> str:
    number = f'<PMID Version="{version}">' if version > 1 else "<PMID>"
    abstract = f"<Abstract><AbstractText>{text}</AbstractText></Abstract>" if text else ""
    return (
        f"<PubmedArticle><MedlineCitation>{number}{pmid}</PMID><Article><ArticleTitle>{title}"
        f"</ArticleTitle>{abstract}</Article></MedlineCitation></PubmedArticle>"
    )
