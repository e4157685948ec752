"""Training of the models that Pincite ships; needs the extra: pip install 'pincite[train]'."""
