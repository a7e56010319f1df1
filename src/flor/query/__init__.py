"""Looking at runs: facts, loops, logs as rows; executes nothing of them."""
