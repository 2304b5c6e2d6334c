"""Scheduled programs: loops run in the order and the kinds of the schedule."""
