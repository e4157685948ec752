"""References and the works that they name: reading, looking up, comparing."""
