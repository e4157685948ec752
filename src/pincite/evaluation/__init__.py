"""Collections, measures and tables: how good is it, on what, with which command."""
