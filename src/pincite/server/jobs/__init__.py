"""The queue, the processes that work it off, and the work of one job."""
