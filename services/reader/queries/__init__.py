"""One module per RPC, named after it, each with one public coroutine."""
