"""The search: behaviours and their rarity, the corpus, and the samplers that propose sequences."""
