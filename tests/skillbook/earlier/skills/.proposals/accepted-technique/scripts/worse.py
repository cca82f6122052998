import triton

BLOCK = 256  # tune: 256, 512, 1024
STAGES = 2  # tune: 1, 2


class ModelNew: ...
