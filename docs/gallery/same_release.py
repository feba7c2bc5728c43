"""Does it matter where the rows are read?

No: the sums under the noise are exact integers, and whoever adds them up gets the same ones.
Here a table in memory, and a query that DuckDB sums itself, give the same release to the last bit for the same seed.
With another seed they differ by the noise.
"""

import duckdb
import matplotlib.pyplot as plt
import numpy as np
import pyarrow as pa

import dpcov

random = np.random.default_rng(0)
rows = random.normal(size=(2000, 6)) * [1, 0.8, 0.6, 0.4, 0.3, 0.2]
people = pa.table({f"x{i}": column for i, column in enumerate(rows.T)})
connection = duckdb.connect(config={"threads": 1})
connection.register("people", people)
ask = {"row_norm": 3, "mechanism": "gaussian", "seed": 0}
here = dpcov.covariance(people, dpcov.ZCDP(0.05), **ask)
there = dpcov.covariance(dpcov.sql(connection, "SELECT * FROM people"), dpcov.ZCDP(0.05), **ask)
again = dpcov.covariance(people, dpcov.ZCDP(0.05), **ask | {"seed": 1})
entries = np.triu_indices(6)
noise = 2**0.5 * here.expected_error * 3**2 / 6  # of a difference of two, for one entry of 36, in the data's units
figure, axis = plt.subplots()
axis.axhspan(-2, 2, color="#e4e4e4", linewidth=0, label="± two standard errors")
for other, name, mark in ((again, "here, another seed", "x"), (there, "DuckDB, same seed", "o")):
    axis.plot((other.finished("none").second_moment - here.finished("none").second_moment)[entries] / noise, mark, label=name)
axis.set(xlabel="entry of the second moment", ylabel="difference, in its standard errors", ylim=(-3, 4.5), xticks=[])
axis.legend()
figure.savefig("same_release.png")
same = all(np.array_equal(one.integers, other.integers) for one, other in zip(here.answers, there.answers, strict=True))
print("here and in DuckDB, the same integers:", same)
