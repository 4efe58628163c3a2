"""What agents should not forget, in one file, found again by keyword first and by meaning when that is not enough."""
