"""What `palimpsest doctor` looks at: the likeliest misconfigurations, each with why it matters and what to do."""
