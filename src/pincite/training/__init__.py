"""Training of the models that ship with Pincite; needs `pip install 'pincite[train]'`."""
