"""The verb `resume`: a run that did not come to its end goes on from its last checkpoint, as a new run."""
