"""Reviewing links: which questions to ask people, in which order, and what becomes of answers."""
