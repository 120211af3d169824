"""Fixtures of the campaign's tests, here too."""

from __future__ import annotations

from tests.campaign.conftest import environment

__all__ = ["environment"]
