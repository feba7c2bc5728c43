import numpy as np, dpcov
from collections import Counter
from benchmarks.datasets import dong
X=dong(16000,10,4); S=X.T@X/len(X)
for c in ("paper","tight"):
    R=[dpcov.covariance(X,dpcov.ZCDP("0.1"),row_norm=1,mechanism="adaptive",constants=c,seed=s) for s in range(10)]
    print(c,[ (round(r.clip_radius,3), [a.statistic for a in r.answers][-1], round(float(np.linalg.norm(r.second_moment-S)),5)) for r in R])
for t in (1,.5,.25,.125):
    nr=np.linalg.norm(X,axis=1); Z=X*np.minimum(1,t/nr)[:,None]; print(t, np.linalg.norm(Z.T@Z/len(X)-S))
from pathlib import Path
from benchmarks.datasets import DATASETS
X=DATASETS["dong, N = 4"](None); S=X.T@X/len(X)
for rho in ("0.03","0.05","0.07","0.1","0.2","0.5"):
    R=[dpcov.covariance(X,dpcov.ZCDP(rho),row_norm=1,seed=s) for s in range(5)]
    print(rho, Counter(round(r.clip_radius,3) for r in R), [round(float(np.linalg.norm(r.second_moment-S)),5) for r in R])
