"""Many tasks in one call: a `Rollout` says how one task is run, `rollouts()` runs all of them."""

from sandbox_agent.rollouts.batch import Batch, rollouts, run_batch
from sandbox_agent.rollouts.result import Result
from sandbox_agent.rollouts.rollout import Rollout

__all__ = ["Batch", "Result", "Rollout", "rollouts", "run_batch"]
