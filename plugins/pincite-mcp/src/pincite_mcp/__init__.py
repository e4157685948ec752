"""The verbs as tools of the Model Context Protocol, for language-model agents."""
