"""Why a run's model is bad: causes with their evidence and the next command, from the run's record alone."""
