"""How accurate are correlations at each budget?

A made-up table of 5000 people with four related columns, eight releases at each ε.
The error falls until it meets that of the table itself, which is only a sample of the population.
From there on more budget buys nothing.
Above the line of "answer 0" a release would tell less than nothing.
"""

import matplotlib.pyplot as plt
import numpy as np
import pyarrow as pa

import dpcov

true = np.array([[1, 0.6, 0.3, 0], [0.6, 1, 0.4, 0.1], [0.3, 0.4, 1, -0.2], [0, 0.1, -0.2, 1]])
random = np.random.default_rng(0)
schema = dpcov.Schema({name: dpcov.Numeric(-6, 6) for name in "abcd"})
pairs = np.triu_indices(4, 1)
epsilons, errors, sampling = [0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2], [], []
for epsilon in epsilons:
    each = []
    for seed in range(8):
        rows = random.multivariate_normal(np.zeros(4), true, 5000)
        table = pa.table(dict(zip("abcd", rows.T, strict=True)))
        release = dpcov.covariance(table, dpcov.PureDP(epsilon), schema=schema, seed=seed)
        each.append(np.abs(release.correlation() - true)[pairs].mean())
        sampling.append(np.abs(np.corrcoef(rows.T) - true)[pairs].mean())
    errors.append((np.mean(each), np.std(each) / np.sqrt(8)))
middle, error = np.array(errors).T
figure, axis = plt.subplots()
axis.errorbar(epsilons, middle, yerr=2 * error, marker="o", capsize=3, label="private, ± two standard errors of eight releases")
axis.axhline(np.mean(sampling), color="#555555", linestyle="--", label="not private: the table's own sampling error")
axis.axhline(np.abs(true[pairs]).mean(), color="#d1662f", linestyle=":", label="answer 0")
axis.set(xscale="log", yscale="log", xlabel="ε", ylabel="mean absolute error of a correlation")
axis.legend(loc="lower left", bbox_to_anchor=(0, 0.12))
figure.savefig("how_accurate.png")
