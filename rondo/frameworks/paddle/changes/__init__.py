"""Changes that exist whatever the subject is: to program state and to compiler state."""
