"""The store in a PostgreSQL database: many machines, one memory."""
