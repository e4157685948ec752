"""All network access: the HTTP client, its cache, robots.txt, archives and search."""
