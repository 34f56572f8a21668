"""Any engine and any agent on generated tasks, judged.

    play            run the agent on a task (`runner`), with the learner's `parts` in it
    layer_of        make a layer of an exercise's function (`parts`)
    tasks           tasks with planted facts, their files, and checks of the result
    engines         what other systems do that is no number in Settings
    judge           an engine's protocol, work and cost, beside presets and those engines
    crash           kill an agent while it waits
    estimates       what each estimator said before each bill
    field, trade    pictures: engines by cost and by what they kept

In a terminal: `agentlib-judge`, or `python -m windtunnel`. The work is done by the offline
model, which is no evidence about language models.
"""

from windtunnel.parts import layer_of
from windtunnel.runner import Run, play
from windtunnel.tasks import scenarios

__all__ = ["Run", "layer_of", "play", "scenarios"]
