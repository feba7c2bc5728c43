"""Mechanisms for principal components: k orthonormal directions, and how much lies along them."""
