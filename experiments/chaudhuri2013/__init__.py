"""Chaudhuri, Sarwate, Sinha (JMLR 2013), "A near-optimal algorithm for differentially-private principal components"."""

from experiments.chaudhuri2013 import bounds, chains, classification, data_sets, scaling, synthetic

EXPERIMENTS = (
    data_sets.TABLE1,
    bounds.FIGURE1,
    bounds.THEOREM8,
    scaling.FIGURE3,
    scaling.FIGURE4,
    synthetic.FIGURE5,
    classification.TABLE2,
    chains.FIGURE2,
)
