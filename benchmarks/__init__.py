"""Measurements that `make bench` prints; never asserted in tests."""
