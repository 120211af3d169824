"""Reports: what a campaign reached, as pages that a person reads."""
