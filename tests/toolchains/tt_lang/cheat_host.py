import torch
import ttnn


def model_new(inputs, state, init, outputs):
    sums = torch.sum(ttnn.to_torch(inputs[0]), dim=-1)
    ttnn.to_torch(outputs[0])[0, : len(sums)] = sums
