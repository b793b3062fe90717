"""What metrics are called on an axis and in a sentence."""

from typing import NamedTuple


class Metric(NamedTuple):
    name: str
    unit: str = ""

    @property
    def axis(self) -> str:
        return f"{self.name}, {self.unit}" if self.unit else self.name


RETURN = Metric("return")
METRICS = {
    "return": RETURN,
    "success_percent": Metric("success", "%"),
    "normalised": Metric("normalised score"),
    "seconds_to_finish": Metric("seconds to the finish"),
    "steps_to_goal": Metric("steps to the goal"),
    "stays_percent": Metric("then at the goal", "%"),
    "agreement_percent": Metric("agreement with what was shown", "%"),
    "metres": Metric("metres driven"),
    "times_usual_distance": Metric("distance from the data (times the usual)"),
    "disc_accuracy": Metric("accuracy of the discriminator"),
    "q_data": Metric("mean Q on the data"),
    "q_promised": Metric("discounted return"),
    "q_true": Metric("discounted return"),
    "checks_held": Metric("checks held"),
    "cost_ranks_returns": Metric("rank correlation of cost and return"),
}


def find(metric: str) -> Metric:
    """The words for `metric`, measured along the way or at the end."""
    name = metric.removeprefix("final_").removeprefix("best_")
    return METRICS.get(name, Metric(name.replace("_", " ")))
