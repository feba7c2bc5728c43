"""Releases made in a process of their own: it alone holds rows, has no network, and is killed when the release is out."""
