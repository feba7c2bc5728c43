"""What does ε mean for one person?

Somebody who knows every other row has two guesses at yours, with some confidence in the worse one.
The release can move that confidence to no more than the curve of its budget, whatever the release says and whoever looks.
At ε = 1 even odds become 73 % at most; at ε = 8 hardly anything is promised.
The curves are exact: they are the promise itself, not an estimate.
"""

import matplotlib.pyplot as plt
import numpy as np

before = np.linspace(0, 1, 401)
figure, axis = plt.subplots()
for epsilon, colour in ((0.1, "#8aa4c2"), (1, "#1f3b5c"), (3, "#d1662f"), (8, "#7a1f1f")):
    after = before * np.exp(epsilon) / (1 - before + before * np.exp(epsilon))
    axis.plot(before, after, color=colour, label=f"ε = {epsilon}: 0.5 becomes {np.exp(epsilon) / (1 + np.exp(epsilon)):.4g}")
axis.plot(before, before, color="#777777", linestyle=":", label="no release at all")
axis.set(xlabel="how sure they were before", ylabel="how sure they can be after, at most")
axis.legend(loc="lower right")
figure.savefig("what_epsilon_means.png")
