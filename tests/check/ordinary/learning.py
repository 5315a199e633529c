import numpy as np
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import train_test_split
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 1))

    def forward(self, x):
        return self.layers(x)


x = np.random.rand(100, 2)
y = x @ np.array([1.0, 2.0]) + 0.1
train_x, test_x, train_y, test_y = train_test_split(x, y, random_state=0)
model = LinearRegression().fit(train_x, train_y)
print(model.coef_, model.score(test_x, test_y))
net = Net()
net.eval()
with torch.no_grad():
    print(net(torch.tensor(test_x, dtype=torch.float32)).mean().item())
