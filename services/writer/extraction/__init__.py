"""How captured messages become facts: what a model or a client proposes, and code verifies."""
