"""WAFER collections (Petroni et al. 2023): built from articles, and measured on."""
