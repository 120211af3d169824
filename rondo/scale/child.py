"""A campaign that ends with its parent: python -m rondo.scale.child PARENT flags."""

from __future__ import annotations

import signal
import sys

from rondo.campaign.processes import die_with_parent
from rondo.fuzz import main

if __name__ == "__main__":
    # SIGTERM, so that it saves everything; its server and workers end with it.
    die_with_parent(int(sys.argv[1]), signal.SIGTERM)
    sys.exit(main(sys.argv[2:]))
