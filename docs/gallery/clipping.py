"""What if my bound on rows is too wide, or too tight?

Rows of norm about 1, and a public `row_norm` between a tenth and a hundred times that, at ρ = 0.1.
Too tight cuts the rows, too wide drowns them: plain noise (`gaussian`) needs the right bound.
`auto` spends a little of the budget on finding one privately, and forgives a hundredfold.
"""

import matplotlib.pyplot as plt
import numpy as np

import dpcov

random = np.random.default_rng(0)
rows = random.normal(size=(5000, 10)) * np.linspace(0.6, 0.05, 10)
exact = rows.T @ rows / len(rows)
bounds = np.geomspace(0.1, 100, 10)
figure, axis = plt.subplots()
for mechanism, name in (("gaussian", "gaussian: the bound as it is"), ("auto", "auto: a private radius within the bound")):
    errors = []
    for bound in bounds:
        found = [
            dpcov.covariance(rows, dpcov.ZCDP(0.1), row_norm=bound, mechanism=mechanism, seed=seed).second_moment
            for seed in range(5)
        ]
        errors.append([np.linalg.norm(one - exact) / np.linalg.norm(exact) for one in found])
    axis.errorbar(bounds, np.mean(errors, axis=1), yerr=2 * np.std(errors, axis=1) / 5**0.5, marker="o", capsize=3, label=name)
axis.axhline(1, color="#555555", linestyle=":", label="answer 0")
axis.set(xscale="log", yscale="log", xlabel="row_norm; rows have a norm of about 1", ylabel="relative error")
axis.legend(title="± two standard errors of five releases")
figure.savefig("clipping.png")
