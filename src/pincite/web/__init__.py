"""The only door to the network: the fetcher, its cache, robots.txt, archives and search."""
