echo nothing to set up
