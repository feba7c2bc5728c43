"""Mechanisms for means, one file each."""
