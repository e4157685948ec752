"""Write an invented PubMed file of any size: for measuring, and for tests of whole files.

    python tests/support/make_pubmed.py pubmed26n0001.xml.gz --records 30000

Sizes are those of the baseline: some 1,500 characters of abstract in half of the records as one
text and in the other half as four sections, six authors with addresses, ten MeSH headings, twenty
references. One record in five has no abstract, one in a hundred a notice of retraction.
"""

import argparse
import gzip
import random
from collections.abc import Iterator
from pathlib import Path
from xml.sax.saxutils import escape

WORDS = (
    "tram harbour sleep patients noise trial group mean dose week risk ratio interval serum bridge "
    "significant response compared placebo baseline follow-up outcome cohort adults reduced higher "
    "after before during between within total score median observed measured treated control and "
    "the of in with for was were that from by p<0.05 95% CI 1.8 12.4 37 café β-blocker 10 mg"
).split()
LABELS = ("BACKGROUND", "METHODS", "RESULTS", "CONCLUSIONS")
HEADINGS = "Humans Animals Sleep Noise Adult Aged Female Male Asthma Risk Cities Trams".split()


def sentence(rng: random.Random, n_words: int) -> str:
    """Words that read like an abstract from afar."""
    return escape(" ".join(rng.choices(WORDS, k=n_words)).capitalize() + ".")


def abstract(rng: random.Random) -> str:
    """An Abstract element of some 1,500 characters; empty for one record in five."""
    if rng.random() < 0.2:
        return ""
    parts = [" ".join(sentence(rng, 20) for _ in range(3)) for _ in LABELS]
    if rng.random() < 0.5:
        return f"<Abstract><AbstractText>{' '.join(parts)}</AbstractText></Abstract>"
    labelled = zip(LABELS, parts, strict=True)
    inside = "".join(f'<AbstractText Label="{k}">{v}</AbstractText>' for k, v in labelled)
    return f"<Abstract>{inside}<CopyrightInformation>© Nobody.</CopyrightInformation></Abstract>"


def record(pmid: int, rng: random.Random) -> str:
    """One PubmedArticle."""
    authors = "".join(
        f'<Author ValidYN="Y"><LastName>Holm{i}</LastName><ForeName>Ida M</ForeName>'
        f"<Initials>IM</Initials><AffiliationInfo><Affiliation>{sentence(rng, 14)}</Affiliation>"
        "</AffiliationInfo></Author>"
        for i in range(6)
    )
    mesh = "".join(
        f'<MeshHeading><DescriptorName UI="D{i}" MajorTopicYN="N">{name}</DescriptorName>'
        '<QualifierName UI="Q1" MajorTopicYN="Y">methods</QualifierName></MeshHeading>'
        for i, name in enumerate(rng.sample(HEADINGS, 10))
    )
    references = "".join(
        f"<Reference><Citation>{sentence(rng, 12)}</Citation><ArticleIdList>"
        f'<ArticleId IdType="pubmed">{pmid + i}</ArticleId></ArticleIdList></Reference>'
        for i in range(20)
    )
    notice = (
        '<CommentsCorrectionsList><CommentsCorrections RefType="RetractionIn"><RefSource>J Invent. '
        "2021;3:4</RefSource></CommentsCorrections></CommentsCorrectionsList>"
    )
    return (
        '<PubmedArticle><MedlineCitation Status="MEDLINE" Owner="NLM">'
        f'<PMID Version="1">{pmid}</PMID><DateRevised><Year>2020</Year><Month>01</Month>'
        '<Day>02</Day></DateRevised><Article PubModel="Print"><Journal><ISSN IssnType="Print">'
        '0000-0000</ISSN><JournalIssue CitedMedium="Print"><Volume>3</Volume><Issue>2</Issue>'
        "<PubDate><Year>2019</Year><Month>Apr</Month></PubDate></JournalIssue>"
        "<Title>Journal of invented results</Title><ISOAbbreviation>J Invent</ISOAbbreviation>"
        f"</Journal><ArticleTitle>{sentence(rng, 12)}</ArticleTitle><Pagination><MedlinePgn>1-9"
        f"</MedlinePgn></Pagination>{abstract(rng)}<AuthorList>{authors}</AuthorList>"
        "<Language>eng</Language><PublicationTypeList><PublicationType UI='D016428'>Journal Article"
        "</PublicationType></PublicationTypeList></Article><MedlineJournalInfo><MedlineTA>J Invent"
        f"</MedlineTA></MedlineJournalInfo><MeshHeadingList>{mesh}</MeshHeadingList>"
        f"{notice if rng.random() < 0.01 else ''}</MedlineCitation><PubmedData><ArticleIdList>"
        f'<ArticleId IdType="pubmed">{pmid}</ArticleId><ArticleId IdType="doi">10.0/{pmid}'
        f"</ArticleId></ArticleIdList><ReferenceList>{references}</ReferenceList></PubmedData>"
        "</PubmedArticle>\n"
    )


def lines(n_records: int, first: int = 1, seed: int = 13) -> Iterator[str]:
    """The file, piece by piece."""
    rng = random.Random(seed)
    yield (
        '<?xml version="1.0" encoding="utf-8"?>\n<!DOCTYPE PubmedArticleSet PUBLIC "-//NLM//DTD '
        'PubMedArticle, 1st January 2025//EN" "https://dtd.nlm.nih.gov/ncbi/pubmed/out/'
        'pubmed_250101.dtd">\n<PubmedArticleSet>\n'
    )
    yield from (record(pmid, rng) for pmid in range(first, first + n_records))
    yield "</PubmedArticleSet>\n"


def main() -> None:
    """Write the file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("path", type=Path)
    parser.add_argument("--records", type=int, default=30_000)
    parser.add_argument("--first", type=int, default=1, help="PMID of the first record")
    given = parser.parse_args()
    packed = given.path.suffix == ".gz"
    with (gzip.open if packed else open)(given.path, "wt", encoding="utf-8") as file:
        for piece in lines(given.records, given.first):
            file.write(piece)


if __name__ == "__main__":
    main()
