"""`pincite serve`: the three verbs over HTTP and in web pages, with jobs that survive a restart."""
