"""`check`: what does a knowledge base say for and against each reading of a statement?"""
