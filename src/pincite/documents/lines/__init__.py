"""Collections with one record a line: JSON lines, CSV, KILT, Sphere, claims files."""
