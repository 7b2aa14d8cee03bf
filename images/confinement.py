"""How Kubernetes confines a service, in the words of podman: a read-only root, no capabilities, a limit of memory."""

import resource

USER_ID = 65532


def confinement(memory: str) -> list[str]:
    """Options of `podman run`; the network is the machine's, for what is on loopback."""
    return [
        "--runtime", "runc", "--pull", "never", "--network", "host",
        "--read-only", "--read-only-tmpfs=false", "--tmpfs", "/tmp:rw,nosuid,nodev,size=256m,mode=1777",
        "--user", f"{USER_ID}:{USER_ID}", "--cap-drop", "all", "--security-opt", "no-new-privileges",
        "--memory", memory, "--memory-swap", memory,
        *limits(),
    ]  # fmt: skip


def limits() -> list[str]:
    """Options of podman and buildah, which ask for more by themselves than a container of containers may have."""
    files, processes = (
        min(1024, resource.getrlimit(limit)[1]) for limit in (resource.RLIMIT_NOFILE, resource.RLIMIT_NPROC)
    )
    return ["--ulimit", f"nofile={files}:{files}", "--ulimit", f"nproc={processes}:{processes}"]
