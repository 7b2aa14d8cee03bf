"""The container images: one Dockerfile a service, and what locks, builds and describes them."""
