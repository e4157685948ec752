"""Where each option of EvidenceSeeker (0.1.3) stands in Pincite, or why it stands nowhere."""

from collections.abc import Callable, Mapping
from typing import Any

from pincite.models import chat
from pincite.pipeline.check_settings import TABLE


def _same(value: Any) -> Any:
    return value


def _language(value: Any) -> str:
    return str(value).lower()


def _types(value: Any) -> list[str]:
    return [str(item).lower() for item in value] if isinstance(value, list) else [str(value)]


# Option → (table, our name, how its value is written there).
VALUES: Mapping[str, tuple[str, str, Callable[[Any], Any]]] = {
    "language": (TABLE, "language", _language),
    "timeout": (TABLE, "timeout", _same),
    "confirmation_threshold": (TABLE, "threshold", _same),
    "top_k": (TABLE, "top_k", _same),
    "window_size": (TABLE, "window", _same),
    "ignore_statement_types": (TABLE, "ignore_statement_types", _types),
    "embed_model_name": ("", "encoder", _same),
}
# Steps of both pipelines → ours.
STEPS: Mapping[str, str] = {
    "freetext_descriptive_analysis": "descriptive_analysis",
    "list_descriptive_statements": "descriptive_list",
    "freetext_ascriptive_analysis": "ascriptive_analysis",
    "list_ascriptive_statements": "ascriptive_list",
    "freetext_normative_analysis": "normative_analysis",
    "list_normative_statements": "normative_list",
    "negate_claim": "negation",
    "freetext_confirmation_analysis": "confirmation_analysis",
    "multiple_choice_confirmation_analysis": "confirmation_choice",
}
MODEL_OPTIONS: Mapping[str, str] = {
    "base_url": "url",
    "model": "model",
    "api_key_name": "key_variable",
    "max_tokens": "max_tokens",
    "temperature": "temperature",
    "timeout": "timeout",
    "context_window": "context_window",
}
GUIDANCE: Mapping[str, str] = {
    "json": "json_schema",
    "pydantic": "json_schema",
    "structured_llm": "json_schema",
    "regex": "regex",
    "grammar": "grammar",
    "prompted": "prompted",
}
PROBABILITY: Mapping[str, str] = {"openai_like": "logprobs", "estimate": "estimate"}

_FIXED = "three options in random order under random labels, always; the first is the one counted"
_DERIVED = "follows from the labels, and is made anew for each question"
STEP_OPTIONS: Mapping[str, str] = {
    "answer_options": _FIXED,
    "answer_labels": _FIXED,
    "claim_option": _FIXED,
    "delim_str": "is part of the prompt's file",
    "json_schema": _DERIVED,
    "constrained_decoding_regex": _DERIVED,
    "constrained_decoding_grammar": _DERIVED,
    "validation_regex": _DERIVED,
}
_VARIABLE = "is set in the variable itself; files of variables are not read"
_ENCODER = "the encoder runs on this machine; no server, no batches to choose"
_TOKEN = "set HF_TOKEN while `pincite models fetch` runs; nothing else asks Hugging Face"  # noqa: S105
_FOLDER = "a corpus is a folder, named when it is used: pincite corpus add FOLDER PATHS"
_HUB = "a corpus is a folder: copy it, or add its files anew elsewhere"
_PLAIN = "says nothing that changes a result"
NO_PLACE: Mapping[str, str] = {
    "config_version": _PLAIN,
    "description": _PLAIN,
    "name": _PLAIN,
    "verbose": "progress is shown on a terminal; --quiet silences it, --trace keeps everything",
    "env_file": _VARIABLE,
    "system_prompt": "is part of each prompt's file: see the setting check.prompts",
    "backend_type": "every server is asked as OpenAI's are; `guidance` says how its form is asked",
    "is_chat_model": "every model is asked for chat completions",
    "is_local": _PLAIN,
    "is_function_calling_model": _PLAIN,
    "embed_backend_type": _ENCODER,
    "embed_base_url": _ENCODER,
    "embed_batch_size": _ENCODER,
    "trust_remote_code": "code that comes with a model is never run",
    "bill_to": "nothing is billed: the encoder runs on this machine",
    "api_key_name": _TOKEN,
    "hub_key_name": _TOKEN,
    "document_input_dir": "give it to: pincite corpus update FOLDER PATHS",
    "document_input_files": "give them to: pincite corpus update FOLDER PATHS",
    "document_file_metadata": "write it as manifest.jsonl beside the files",
    "meta_data_file": "write it as manifest.jsonl beside the files: a line for each file",
    "index_id": _FOLDER,
    "index_persist_path": _FOLDER,
    "index_hub_path": _HUB,
    "use_postgres": "the corpus keeps its own SQLite file: no server to run",
    **{
        f"postgres_{name}": "the corpus keeps its own SQLite file: no server to run"
        for name in "host port database user table_name schema_name embed_dim".split()
    },
    "postgres_password_env_var": "no server, no password",
    "postgres_llamaindex_table_name_prefix": "the corpus keeps its own SQLite file",
    "llamaindex_table_name_prefix": "the corpus keeps its own SQLite file",
}
# Never copied, whatever stands there.
SECRET: Mapping[str, str] = {
    "postgres_password": "is a secret and was not copied; no server, no password",
    "api_key": f"is a secret and was not copied; set {chat.KEY_VARIABLE}",
}
