"""Where the rollouts of a batch run: on this machine, or on a Ray cluster."""
