"""How many components are real?

Ten measurements of 569 tumours (the breast cancer table that scikit-learn ships), each with a public range, at ρ = 0.2.
Noise alone would put eigenvalues inside the grey band: only those above it are structure.
The release says so by itself, and `release.pca()` keeps just those.
"""

import matplotlib.pyplot as plt
import numpy as np
import pyarrow as pa
from sklearn.datasets import load_breast_cancer

import dpcov

bounds = {"radius": 30, "texture": 40, "perimeter": 200, "area": 2500, "smoothness": 0.2}  # known of such measurements
bounds |= {"compactness": 0.4, "concavity": 0.5, "concave points": 0.25, "symmetry": 0.4, "fractal dimension": 0.1}
table = pa.table(dict(zip(bounds, load_breast_cancer().data.T[:10], strict=True)))
schema = dpcov.Schema({name: dpcov.Numeric(0, high) for name, high in bounds.items()})
release = dpcov.covariance(table, dpcov.ZCDP(0.2), schema=schema, seed=0)
spectrum = release.describe().spectrum
figure, axis = plt.subplots()
places = np.arange(1, len(spectrum.values) + 1)
axis.axhspan(
    spectrum.about - spectrum.edge, spectrum.about + spectrum.edge, color="#bbbbbb", alpha=0.5, linewidth=0, label="noise alone"
)
for chosen, colour in ((spectrum.clear, "#1f3b5c"), (~spectrum.clear, "#999999")):
    axis.errorbar(
        places[chosen],
        spectrum.values[chosen],
        yerr=2 * spectrum.errors[chosen],
        fmt="o",
        color=colour,
        capsize=3,
        markersize=4,
    )
axis.set(xlabel="eigenvalue of the correlations, in order; ± two standard errors", ylabel="size")
axis.legend()
figure.savefig("how_many_components.png")
print(f"components that stand out of the noise: {release.pca().k}")
