"""A corpus in a Milvus: the engine of `milvus://` and, with TLS, `milvuss://` addresses."""
