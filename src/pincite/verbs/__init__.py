"""The three verbs, independent of each other: each folder can be deleted without the others."""
