"""The Python runner's own modules. A package, so that no name of a user's module meets one of them."""
