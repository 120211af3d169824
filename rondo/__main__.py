"""`python -m rondo` is the command `rondo`."""

from __future__ import annotations

from rondo.cli import main

if __name__ == "__main__":
    main()
