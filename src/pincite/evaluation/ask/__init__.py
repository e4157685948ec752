"""How good are the answers of `ask`: papers found, sentences supported, questions decided."""
