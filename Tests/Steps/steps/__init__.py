"""Runs the project's checks: a table of steps, their scheduling, and what a person sees of them."""
