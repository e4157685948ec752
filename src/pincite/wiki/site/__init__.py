"""Wikipedia from outside: addresses, the API, dumps, lists of articles."""
