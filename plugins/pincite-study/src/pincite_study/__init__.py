"""The blind study: which of two citations supports a statement better?"""
