"""Thin adapters for frameworks; each module needs its framework installed, and nothing else does."""
