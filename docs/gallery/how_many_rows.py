"""How many people do I need?

Nothing is spent and no row is read: the errors follow from the schema, the budget and the number of rows.
Below its line a correlation cannot be told from noise; where a line is at 1, none can.
Plans are for made-up rows under public assumptions; [how well they held](../planning.md#how-good-it-is).
"""

import matplotlib.pyplot as plt

import dpcov

schema = dpcov.Schema.read("examples/hospital/hospital.toml").select(["age", "systolic", "heart_rate", "sodium", "cost"])
sizes = [500, 1000, 2000, 4000, 8000, 32000]
figure, axis = plt.subplots()
for epsilon in (0.5, 2):
    plans = [dpcov.plan_table(schema, dpcov.PureDP(epsilon), n=n) for n in sizes]
    clear = [min(3 * plan.outlook.correlation, 1) for plan in plans]  # three standard errors
    axis.plot(sizes, clear, marker="o", label=f"ε = {epsilon}")
axis.set(xscale="log", xlabel="people in the table", ylabel="smallest correlation clear of noise", ylim=(0, 1.05))
axis.set_xticks(sizes, [f"{n:,}" for n in sizes])
axis.minorticks_off()
axis.legend(title="planned, five columns")
figure.savefig("how_many_rows.png")
