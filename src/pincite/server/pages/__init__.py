"""The web pages: server-rendered, readable without JavaScript, asking no other site."""
