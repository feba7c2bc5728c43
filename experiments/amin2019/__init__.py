from experiments.frame import Experiment

EXPERIMENTS: tuple[Experiment, ...] = ()
