"""Does a source bear a statement out, down to the exact passage? And which would?"""
