"""Search: a query becomes an answer. Nothing here changes what is saved."""
