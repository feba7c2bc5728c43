"""What is left of the budget?

A ledger adds up what every release of a data set cost, in exact fractions, and refuses the one that would go beyond.
Amounts in a ledger have no error: they are what was promised.
"""

import matplotlib.pyplot as plt
import numpy as np

import dpcov

ledger = dpcov.Ledger.create("budget.db")
ledger.add("stays", dpcov.ZCDP(1), why="board decision", who="custodian")
rows = np.random.default_rng(0).normal(size=(500, 3))
spent = []
for rho, why in (
    (0.3, "annual report"),
    (0.1, "beds"),
    (0.25, "cost study"),
    (0.2, "teaching"),
    (0.3, "one more study"),
):
    stays = ledger.dataset("stays", why=why, who="custodian")
    try:
        dpcov.covariance(rows, dpcov.ZCDP(rho), row_norm=3, ledger=stays)
        spent.append((why, rho))
    except dpcov.BudgetError as error:
        print(f"{why}: refused.", str(error).partition(" Hint")[0])
figure, axis = plt.subplots(figsize=(7, 1.9))
start = 0.0
for (why, rho), colour in zip(spent, ("#1f3b5c", "#47688f", "#d1662f", "#5b7596"), strict=True):
    axis.barh(0, rho, left=start, color=colour, edgecolor="white")
    axis.text(start + rho / 2, 0, f"{why}\nρ = {rho}", ha="center", va="center", color="white", fontsize=8)
    start += rho
axis.text((1 + start) / 2, 0, f"left\nρ = {float(ledger.status().of('stays').left.rho)}", ha="center", va="center", fontsize=8)
axis.set(xlim=(0, 1), xlabel="ρ spent, of 1", yticks=[])
figure.savefig("ledger.png")
