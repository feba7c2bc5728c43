"""All code that a promise rests on, with `sources` and `schema`: what an auditor reads."""
