"""The oracle: run a sequence three ways, compare what a user sees, say what an alarm is."""
