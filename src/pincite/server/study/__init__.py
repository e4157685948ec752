"""The blind study: which of two citations bears a statement out better?"""
