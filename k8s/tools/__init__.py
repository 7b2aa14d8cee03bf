"""What the manifests are checked with, and secrets for the overlay `dev`."""
