"""What of a store may go: rules, what they would free, and doing it; executes nothing of the store."""
