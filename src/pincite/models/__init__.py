"""Encoder and verifier on ONNX Runtime, and the single place that locates weights."""
