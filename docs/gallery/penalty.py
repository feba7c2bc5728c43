"""How much should a regression be penalised?

Six related features of 3000 made-up people, two of which matter, released once at ρ = 0.005; every penalty is free.
Without one, coefficients carry the noise of the release; with much of it, all of them vanish.
`alpha="auto"` finds the dashed line by itself, from the known law of the noise.
Bands are 95 % intervals of what the exact table would give at the same penalty; left of it they leave the picture.
"""

import matplotlib.pyplot as plt
import numpy as np
import pyarrow as pa

import dpcov

random = np.random.default_rng(3)
features = (random.normal(size=(3000, 6)) + random.normal(size=(3000, 1))) / 2**0.5
target = 0.8 * features[:, 0] - 0.5 * features[:, 1] + random.normal(size=3000)
names = [f"x{i}" for i in range(1, 7)]
table = pa.table(dict(zip([*names, "y"], [*features.T, target], strict=True)))
schema = dpcov.Schema({name: dpcov.Numeric(-5, 5) for name in table.column_names})
release = dpcov.covariance(table, dpcov.ZCDP(0.005), schema=schema, seed=2)
alphas = np.geomspace(0.02, 20, 25)
models = [release.ridge("y", alpha=alpha) for alpha in alphas]
bands = [model.interval(about="rows").coefficients for model in models]
figure, axis = plt.subplots()
for i, name in enumerate(names):
    colour = ("#1f3b5c", "#d1662f")[i] if i < 2 else "#999999"
    axis.plot(
        alphas,
        [model.coefficients[i] for model in models],
        color=colour,
        label=name if i < 2 else "x3 to x6: truly 0" * (i == 2),
    )
    axis.fill_between(alphas, [b.lower[i] for b in bands], [b.upper[i] for b in bands], color=colour, alpha=0.15, linewidth=0)
axis.axvline(release.ridge("y").alpha, color="#555555", linestyle="--", label="auto")
axis.set(xscale="log", xlabel="alpha", ylabel="coefficient (truly: x1 0.8, x2 −0.5)", ylim=(-1.2, 1.4))
axis.legend()
figure.savefig("penalty.png")
