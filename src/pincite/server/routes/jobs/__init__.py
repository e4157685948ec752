"""Jobs: started, followed, listed, stopped and shared."""
