"""Finding the threshold of relevance: questions, labelled or sampled, and the trade that each threshold makes."""
