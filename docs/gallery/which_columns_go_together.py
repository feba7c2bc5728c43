"""Which columns go together?

Nine made-up questions of a survey, in three groups; 3000 answers, released at ε = 2.
A tree is built from the private correlations: what joins low is alike.
The grey band is two standard errors of a correlation at the top of the scale, so joins inside it could be anything.
"""

import matplotlib.pyplot as plt
import numpy as np
import pyarrow as pa
from scipy.cluster.hierarchy import dendrogram, linkage
from scipy.spatial.distance import squareform

import dpcov

random = np.random.default_rng(0)
groups = {"health": ["sleep", "sport", "weight"], "money": ["rent", "income", "savings"], "mood": ["joy", "stress", "trust"]}
columns = {name: random.normal(size=3000) for name in groups}
answers = {name: 0.8 * columns[group] + 0.6 * random.normal(size=3000) for group, names in groups.items() for name in names}
schema = dpcov.Schema({name: dpcov.Numeric(-5, 5) for name in answers})
release = dpcov.covariance(pa.table(answers), dpcov.PureDP(2), schema=schema, seed=0)
found = release.describe().correlation
apart = 1 - np.abs(np.where(found.clear, found.values, 0))
np.fill_diagonal(apart, 0)
error = np.median(found.standard_error[np.triu_indices(9, 1)])
figure, axis = plt.subplots()
tree = linkage(squareform(apart, checks=False), "average")
dendrogram(tree, labels=found.feature_names, ax=axis, color_threshold=0.8, above_threshold_color="#777777")
axis.axhspan(1 - 2 * error, 1, color="#bbbbbb", alpha=0.5, linewidth=0)
axis.set(ylabel=f"1 − |correlation|, each ± {error:.2f}", ylim=(0, 1.05))
figure.savefig("which_columns_go_together.png")
