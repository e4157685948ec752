"""Where each option of EvidenceSeeker (0.1.3) stands in Pincite, or why it stands nowhere."""

from collections.abc import Callable, Mapping
from typing import Any

from pincite.llm import chat


def _same(value: Any) -> Any:
    return value


def _language(value: Any) -> str:
    return str(value).lower()


def _types(value: Any) -> list[str]:
    return [str(item).lower() for item in value] if isinstance(value, list) else [str(value)]


# Option → (our name, how its value is written there).
VALUES: Mapping[str, tuple[str, Callable[[Any], Any]]] = {
    "language": ("language", _language),
    "confirmation_threshold": ("check.threshold", _same),
    "top_k": ("check.top_k", _same),
    "window_size": ("check.window_size", _same),
    "ignore_statement_types": ("check.ignore_statement_types", _types),
    "embed_model_name": ("models.encoder", _same),
    "embed_batch_size": ("embeddings.batch", _same),
}
# Of the model that most steps use.
MODEL_OPTIONS: Mapping[str, str] = {
    "base_url": "chat.url",
    "model": "chat.model",
    "temperature": "chat.temperature",
    "timeout": "chat.seconds",
    "backend_type": "chat.dialect",
    "max_tokens": "chat.step_tokens",
}
# What it sends for a model that says nothing of them (its `get_openai_llm`, llama-index-core 0.14).
DEFAULTS: Mapping[str, Any] = {"temperature": 0.1, "max_tokens": 1024}
DIALECTS: Mapping[str, str] = {"openai": "openai", "tgi": "tgi", "nim": "nim"}
GUIDANCE: Mapping[str, str] = {
    "json": "json",
    "pydantic": "json",
    "structured_llm": "json",
    "regex": "regex",
    "grammar": "grammar",
    "prompted": "prompted",
}
PROBABILITIES: Mapping[str, str] = {"openai_like": "logprobs", "estimate": "estimate"}
# In prompts. Doubled braces stay so: its library, llama-index-core 0.14, sends them as they are.
PROMPT_NAMES: Mapping[str, str] = {
    "{answer_options}": "{options}",
    "{answer_labels}": "{labels}",
    "{freetext_confirmation_analysis}": "{analysis}",
}

_DERIVED = "follows from the labels, and is made anew for each question"
STEP_OPTIONS: Mapping[str, str] = {
    "answer_options": "should be a list: left out",
    "claim_option": "is none of the answer_options: left out",
    "answer_labels": "should be a list: left out",
    "json_schema": _DERIVED,
    "constrained_decoding_regex": _DERIVED,
    "constrained_decoding_grammar": _DERIVED,
    "validation_regex": _DERIVED,
}
_VARIABLE = "is set in the variable itself; files of variables are not read"
_ENCODER = "stands in models.encoder: NAME@URL of one on a server, NAME of one on this machine"
# Which of its servers of encoders Pincite asks too, and at which path; the others' answers differ.
EMBEDDING_PATHS: Mapping[str, str] = {"tei": "/embed", "ollama": "/v1"}
_TOKEN = "set HF_TOKEN while `pincite models fetch` runs; nothing else asks Hugging Face"  # noqa: S105
_FOLDER = "a corpus is a folder, named when it is used: pincite corpus update FOLDER PATHS"
_SQLITE = "the corpus keeps its own SQLite file: no server to run"
_PLAIN = "says nothing that changes a result"
NO_PLACE: Mapping[str, str] = {
    "config_version": _PLAIN,
    "description": _PLAIN,
    "name": _PLAIN,
    "verbose": "progress is shown on a terminal, --quiet silences it, --trace keeps everything",
    "env_file": _VARIABLE,
    "system_prompt": "goes into each prompt that has none of its own: --prompts",
    "timeout": "a run has no limit of time but of calls, tokens and cost ([budget])",
    "context_window": "a passage has about 100 words, and a prompt always fits",
    "is_chat_model": "every model is asked for chat completions",
    "is_local": _PLAIN,
    "is_function_calling_model": _PLAIN,
    "api_key_name": f"the key of the server stands in {chat.KEY_VARIABLE}: set that instead",
    "embed_backend_type": _ENCODER,
    "embed_base_url": _ENCODER,
    "trust_remote_code": "code that comes with a model is never run",
    "bill_to": "no such header is sent",
    "hub_key_name": _TOKEN,
    "document_input_dir": "give it to: pincite corpus update FOLDER PATHS",
    "document_input_files": "give them to: pincite corpus update FOLDER PATHS",
    "document_file_metadata": "write what it returns as JSON by file name, as for meta_data_file",
    "meta_data_file": "give it to the same command as it is: pincite corpus update FOLDER PATHS",
    "index_id": _FOLDER,
    "index_persist_path": _FOLDER,
    "index_hub_path": "pincite corpus pack makes one file of a corpus; put it where you like",
    "use_postgres": _SQLITE,
    **{
        f"postgres_{name}": _SQLITE
        for name in "host port database user table_name schema_name embed_dim".split()
    },
    "postgres_llamaindex_table_name_prefix": _SQLITE,
    "postgres_password_env_var": "no server, no password",
}
# Never copied, whatever stands there.
SECRET: Mapping[str, str] = {
    "postgres_password": "is a secret and was not copied; no server, no password",
    "api_key": f"is a secret and was not copied; set {chat.KEY_VARIABLE}",
}
