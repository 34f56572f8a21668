"""Pictures with controls."""
