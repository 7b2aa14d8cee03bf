"""The rules that do not show in any answer, each with the reason."""

OUT_OF_SIGHT: dict[str, str] = {
    "SH-2": "which stores there are does not show in answers; 'palimpsest doctor' looks at the database",
    "SH-3": "happens at start; nothing is restarted here",
    "SH-4": "is about starting the embedded system; 'palimpsest demo' does it",
    "SH-6": "the keys of tables do not show in answers",
    "EM-5": "would change the model of every namespace; 'palimpsest reembed' does it",
    "EM-6": "needs a large store and another index; 'palimpsest vector-index' and the benchmarks measure it",
    "OP-3": "goes to collectors, not to callers",
    "OP-4": "the cluster does not show in answers",
    "OP-5": "is a load test, which would harm a running deployment",
    "OP-6": "needs the database's administrator and a restart",
}
