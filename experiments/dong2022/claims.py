from experiments.check import Claim

CLAIMS: tuple[Claim, ...] = ()
