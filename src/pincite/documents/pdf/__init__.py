"""PDF files: lines from pdfium, joined into running text with page numbers."""
