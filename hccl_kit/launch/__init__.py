"""From a rank table and a command to what starts the job: a plan, and emitters that turn it into text."""

from hccl_kit.launch.plan import LaunchPlan, plan

__all__ = ["LaunchPlan", "plan"]
