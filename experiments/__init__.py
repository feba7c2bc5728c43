"""The figures and tables of five papers, made again: `make papers`, or `python -m experiments --help`.

Each folder is a paper: its experiments, the numbers known of them (``targets.csv``) and what came out (``results``).
"""
