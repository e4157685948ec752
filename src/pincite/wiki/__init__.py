"""An article in: claims with their citations and exact spans. Wikitext and edit suggestions out."""
