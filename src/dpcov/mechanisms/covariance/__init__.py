"""Mechanisms for covariances."""
