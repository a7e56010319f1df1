"""The verb `replay`: probes -> plan -> workers -> merge -> check."""
