"""Results of jobs: their pages, feedback on them, and copies of sources handed in for them."""
