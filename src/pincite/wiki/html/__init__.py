"""Wikipedia's HTML, from Parsoid or rendered, with its references."""
