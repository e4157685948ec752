"""The verbs: claims, retrieve, verify, aggregate."""
