"""Training of the models that ship with Pincite; needs `pincite[train]`."""
