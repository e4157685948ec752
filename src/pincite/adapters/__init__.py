"""Pincite's parts in the shapes of other libraries; one file each, imported by whoever has them."""
