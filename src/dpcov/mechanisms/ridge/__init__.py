"""Mechanisms for one regression."""
