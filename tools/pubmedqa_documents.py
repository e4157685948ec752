"""PubMedQA's abstracts as documents: python tools/pubmedqa_documents.py ori_pqal.json > pqa.jsonl

    pincite corpus add papers/ pqa.jsonl

For `pincite eval qa`: the sections of each abstract without its conclusion, under the paper's
address in PubMed, and without its title, which is the question.
"""

import json
import sys
from pathlib import Path

from pincite_lab.evaluation.qa import read_questions


def main() -> None:
    for question in read_questions(Path(sys.argv[1])):
        if paper := question.abstract:
            row = {"url": paper.url, "title": "", "text": paper.text, "published": paper.published}
            print(json.dumps({**row, "kind": paper.kind, **paper.meta}))


if __name__ == "__main__":
    main()
