"""EvidenceSeeker's side of `compare_seed.py`: runs in an environment that has EvidenceSeeker.

Reads what to do as JSON from stdin; prints lines "RESULT: {…}": the index first, then a line a
statement. A statement whose run ends with an exception has that exception, and no results.
"""

import asyncio
import importlib
import importlib.util
import json
import sys
import time
import traceback
import types
from importlib.metadata import version
from typing import Any

ANALYSIS_TOKENS, CONFIRMATION_TOKENS = 700, 500  # what pincite asks for at most


def main() -> None:
    """Index the documents, then check the statements one after another."""
    if importlib.util.find_spec("sentence_transformers") is None:
        # It is imported at once, with torch, even where embeddings come from a server.
        empty: Any = types.ModuleType("sentence_transformers")
        empty.SentenceTransformer = object
        sys.modules["sentence_transformers"] = empty
    told = json.loads(sys.stdin.read())
    started = time.time()
    seed: Any = importlib.import_module("evidence_seeker")
    loaded = time.time() - started
    retrieval = retrieval_config(told)
    started = time.time()
    builder: Any = importlib.import_module("evidence_seeker.retrieval.index_builder")
    builder.IndexBuilder(config=retrieval).build_index()
    tell(
        {"indexed": time.time() - started, "loaded": loaded, "version": version("evidence-seeker")}
    )
    pipeline = seed.EvidenceSeeker(
        preprocessing_config=preprocessing_config(told),
        retrieval_config=retrieval,
        confirmation_analysis_config=confirmation_config(told),
    )
    asyncio.run(check_all(pipeline, told["statements"]))


def tell(found: dict[str, Any]) -> None:
    """A line for the other side."""
    print("RESULT: " + json.dumps(found), flush=True)


async def check_all(pipeline: Any, statements: list[str]) -> None:
    """One after another, in one event loop: the clients keep their connections."""
    for statement in statements:
        tell(await checked(pipeline, statement))


async def checked(pipeline: Any, statement: str) -> dict[str, Any]:
    """One statement."""
    started, error, claims = time.time(), "", []
    try:
        claims = await pipeline(statement)
    except Exception as failure:  # which one is the finding
        error = f"{type(failure).__name__}: {failure}"
        traceback.print_exc()
    results = [
        {
            "text": claim.text,
            "kind": claim.statement_type.value,
            "result": claim.confirmation_level.value,
            "doc": claim.average_confirmation,
            "n": claim.n_evidence,
        }
        for claim in claims
    ]
    ended = time.time()
    found = {"statement": statement, "started": started, "ended": ended, "error": error}
    return {**found, "results": results}


def model_of(told: dict[str, Any], max_tokens: int) -> dict[str, Any]:
    """A model's entry in a configuration."""
    return {
        "one": {
            "name": told["model"],
            "model": told["model"],
            "base_url": f"{told['url']}/v1",
            "backend_type": told["backend"],
            "max_tokens": max_tokens,
            "temperature": 0.2,
            "timeout": 260,
        }
    }


def preprocessing_config(told: dict[str, Any]) -> Any:
    """The shipped configuration, in English, with the model; or the given file's."""
    config: Any = importlib.import_module("evidence_seeker.preprocessing.config")
    if "files" in told:
        return config.ClaimPreprocessingConfig.from_yaml(told["files"]["preprocessing"])
    return config.ClaimPreprocessingConfig(
        language="EN", used_model_key="one", models=model_of(told, ANALYSIS_TOKENS)
    )


def retrieval_config(told: dict[str, Any]) -> Any:
    """Embeddings from the comparison's server."""
    config: Any = importlib.import_module("evidence_seeker.retrieval.config")
    if "files" in told:
        return config.RetrievalConfig.from_yaml(told["files"]["retrieval"])
    return config.RetrievalConfig(
        embed_backend_type="tei",
        embed_base_url=told["url"],
        embed_model_name="all-MiniLM-L6-v2",
        index_persist_path=told["index"],
        document_input_dir=None,
        document_input_files=told["documents"],
        meta_data_file=None,
        top_k=told["top_k"],
    )


def confirmation_config(told: dict[str, Any]) -> Any:
    """The shipped configuration with the model, and how probabilities are had."""
    config: Any = importlib.import_module("evidence_seeker.confirmation_analysis.config")
    if "files" in told:
        return config.ConfirmationAnalyzerConfig.from_yaml(told["files"]["confirmation_analysis"])
    made = config.ConfirmationAnalyzerConfig(
        used_model_key="one", models=model_of(told, CONFIRMATION_TOKENS)
    )
    step = made.multiple_choice_confirmation_analysis.llm_specific_configs["default"]
    step.guidance_type = told["guidance"]
    step.n_repetitions_mcq = told["repetitions"]
    step.logprobs_type = "estimate" if told["probabilities"] == "estimate" else "openai_like"
    return made


if __name__ == "__main__":
    main()
