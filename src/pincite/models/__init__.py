"""Encoder and verifier on ONNX Runtime, and the one place that looks for weights."""
