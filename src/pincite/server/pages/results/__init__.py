"""Pages of the three verbs: their forms, and what came out."""
