"""Numbers and noise: budgets, calibration, random bits, exact samplers. Nothing here knows of rows."""
