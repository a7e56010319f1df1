# A table that is changed in place, statistics by partial_fit, a clusterer, all fed in the inner loop.
#
# run: train.py
# expect: outer exact; inner exact
# also: outer --epochs 3:5; lines ^\S+ [34]\b
# also: inner --epochs 3:5; lines ^\S+ [34]\b
import time

import numpy as np
import pandas as pd
import torch
from sklearn.cluster import MiniBatchKMeans
from sklearn.decomposition import IncrementalPCA
from sklearn.linear_model import SGDRegressor
from sklearn.preprocessing import StandardScaler
from torch import nn

torch.manual_seed(7)
x = torch.randn(140, 6)
y = x.sum(1, keepdim=True).sin()
model = nn.Sequential(nn.Linear(6, 24), nn.Tanh(), nn.Linear(24, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
scaler, pca, side = StandardScaler(), IncrementalPCA(2), SGDRegressor(random_state=0, average=True)
clusters = MiniBatchKMeans(3, n_init=1, random_state=0)
table = pd.DataFrame({"row": range(140), "seen": 0, "kind": pd.Categorical(["new"] * 140, ["new", "old"])})
alias = table["seen"]
table.attrs["steps"] = 0
for epoch in range(5):
    for rows in torch.randperm(140).split(20):
        batch = x[rows].numpy()
        scaler.partial_fit(batch)
        pca.partial_fit(batch)
        side.partial_fit(batch, y[rows].numpy().ravel())
        clusters.partial_fit(batch)
        optimizer.zero_grad()
        inputs = torch.from_numpy(scaler.transform(batch).astype(np.float32))
        loss = nn.functional.mse_loss(model(inputs), y[rows] + 0.1 * float(side.coef_[0]))
        loss.backward()
        optimizer.step()
        table.loc[rows.tolist(), "seen"] += 1
        table.loc[rows.tolist()[:5], "kind"] = "old"
        table.attrs["steps"] += 1
        time.sleep(0.05)
        print("scale", epoch, scaler.n_samples_seen_, side.t_, loss.item())  #@inner
    table = table.sort_values("seen", kind="stable")
    print("table", epoch, table["kind"].value_counts().to_dict(), table.attrs, table.index[:3].tolist(), pca.explained_variance_[0])  #@outer
    print("fits", epoch, clusters.cluster_centers_.sum(), side.coef_[:2].tolist(), scaler.mean_[0], int(table["seen"].sum()))  #@outer
