"""Which correlations can I believe?

Eight columns of a made-up hospital, 8000 stays, released at ε = 1.
A colour fades as its number comes near to noise; a cell is grey where the two cannot be told apart.
Each number has its standard error below it.
"""

import runpy

import dpcov

hospital = runpy.run_path("examples/hospital/table.py")["hospital"]()
schema = dpcov.Schema.read("examples/hospital/hospital.toml")
columns = ["age", "length_of_stay", "systolic", "diastolic", "heart_rate", "creatinine", "haemoglobin", "cost"]
release = dpcov.covariance(hospital, dpcov.PureDP(1), schema=schema, columns=columns, seed=1)  # the seed is for this page only
correlation = release.describe().correlation
correlation.plot("clear_of_noise.png")
for i, j in correlation.pairs()[:4]:
    one, other = correlation.feature_names[i], correlation.feature_names[j]
    print(f"{one} and {other}: {correlation.values[i, j]:+.2f} ± {correlation.standard_error[i, j]:.2f}")
