"""The writer: takes observations, projects them, and sees to their vectors. The only service that writes knowledge."""
