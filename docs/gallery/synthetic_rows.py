"""What do synthetic rows keep?

Left: 1500 made-up people whose income bends and spreads with age. Right: rows drawn from a release of them at ε = 2.
Means, spreads and the correlation are kept, within their errors.
Shapes are not: whoever needs those must not use synthetic rows.
"""

import matplotlib.pyplot as plt
import numpy as np
import pyarrow as pa

import dpcov

random = np.random.default_rng(0)
age = random.uniform(18, 80, 1500)
income = 70 * np.sin((age - 15) / 25) + random.normal(0, 4 + age / 8)
people = pa.table({"age": age, "income": income + 30})
schema = dpcov.Schema({"age": dpcov.Numeric(18, 80), "income": dpcov.Numeric(-50, 200)})
release = dpcov.covariance(people, dpcov.PureDP(2), schema=schema, seed=0)
made = release.sample(1500, seed=0)
found = release.describe().correlation
figure, axes = plt.subplots(1, 2, sharex=True, sharey=True, figsize=(7, 3.4))
titles = (
    f"people: correlation {np.corrcoef(age, income)[0, 1]:.2f}",
    f"synthetic, from {found.values[0, 1]:.2f} ± {found.standard_error[0, 1]:.2f}",
)
for axis, table, title in zip(axes, (people, made), titles, strict=True):
    axis.plot(table["age"], table["income"], ".", markersize=2, color="#1f3b5c")
    axis.set(title=title, xlabel="age")
axes[0].set_ylabel("income, thousands")
figure.savefig("synthetic_rows.png")
