"""The figures of a run: what is measured, its budgets, the report and the chart."""
