"""One module per group of figures; each has `measure(tested, plan, measurements)`."""
