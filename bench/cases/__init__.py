"""One module per group of figures; each has `measure(contender, plan, ledger)`."""
