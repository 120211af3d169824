"""Tests over TensorFlow: skipped by name where it is not installed."""

from __future__ import annotations

import pytest

pytest.importorskip("tensorflow")
