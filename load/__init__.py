"""Load on a running system: ghz calls the main RPCs with many different requests, and gates judge what came back."""
