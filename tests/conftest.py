"""Settings of all tests."""

from __future__ import annotations

import torch

torch.set_num_threads(1)  # tests run beside each other
