"""Do the intervals hold?

Sixty made-up tables of 2000 people, one release of each at ε = 1, and the 95 % interval of one regression coefficient.
Those that miss the truth are orange: about one in twenty should.
The intervals cover the privacy noise and the draw of the people together.
"""

import matplotlib.pyplot as plt
import numpy as np
import pyarrow as pa
from scipy.stats import binomtest

import dpcov

TRUE, TABLES = 0.5, 60
random = np.random.default_rng(0)
schema = dpcov.Schema({"x": dpcov.Numeric(-5, 5), "y": dpcov.Numeric(-5, 5)})
figure, axis = plt.subplots()
missed = 0
for seed in range(TABLES):
    x = random.normal(size=2000)
    table = pa.table({"x": x, "y": TRUE * x + random.normal(size=2000)})
    release = dpcov.covariance(table, dpcov.PureDP(1), schema=schema, seed=seed)
    interval = release.ridge("y", alpha=0).interval().coefficients
    low, high = interval.lower[0], interval.upper[0]
    missed += not low <= TRUE <= high
    axis.plot([seed, seed], [low, high], color="#1f3b5c" if low <= TRUE <= high else "#d1662f")
axis.axhline(TRUE, color="#555555", linestyle="--")
axis.set(xlabel="release", ylabel="95 % interval of the coefficient")
figure.savefig("do_intervals_hold.png")
sure = binomtest(TABLES - missed, TABLES).proportion_ci()
print(f"{TABLES - missed} of {TABLES} hold, so between {sure.low:.0%} and {sure.high:.0%} do (with 95 % confidence)")
