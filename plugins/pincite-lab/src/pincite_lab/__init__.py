"""Pincite's laboratory: training, evaluation, calibration of judges, WAFER collections."""
