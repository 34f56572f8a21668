"""Fetches pages."""
