"""Checks of the manifests: on what kustomize builds, and before a real apiserver."""
