"""Web pages: parsed without network, their article, headings and metadata."""
