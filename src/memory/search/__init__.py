"""Finding: a query becomes an answer. Nothing here keeps anything."""
