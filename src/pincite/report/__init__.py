"""Reports for people and programs: terminal, JSON, CSV, one HTML page, wikitext."""
