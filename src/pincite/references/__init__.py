"""Does a reference exist, is it described rightly, and does the work still stand?"""
