"""`verify`: does the cited source support the sentence, and if not, what would?"""
