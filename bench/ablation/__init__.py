"""Each optimisation of the server with and without it (`scripts/ablation`)."""
