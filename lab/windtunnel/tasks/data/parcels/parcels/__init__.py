"""Prices, routes and labels for parcels."""
