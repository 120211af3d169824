"""The sample project's own tests: what a user writes."""

from __future__ import annotations

import pytest
import torch
from acme_model import Model

import rondo
from rondo.testing import assert_stateless

MODEL = rondo.subject(Model, torch.randn(4, 8), backends=["acme"])


@pytest.mark.rondo
def test_model_is_stateless():
    assert_stateless(Model, [torch.randn(4, 8)], backends=["acme"], executions=60, seed=1)
