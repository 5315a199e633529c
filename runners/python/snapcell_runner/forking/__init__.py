"""What makes a runner fit for forks, and its forks unlike each other (docs/fork-correctness.md)."""
