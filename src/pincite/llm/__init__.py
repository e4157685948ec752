"""Language models over HTTP: one chat client, prompts, replies, and a budget."""
