"""The routes, one file per resource; ``state`` is what they find in the app."""
