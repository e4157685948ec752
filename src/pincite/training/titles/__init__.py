"""Training a model that guesses the titles of pages that claims cite."""
