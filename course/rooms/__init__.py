"""The rooms. Each lesson has one: a module of this package, named as its notebook is.

A room holds what its lesson's cells print and draw, and its panels. The exercises stand in
`checks`. Nothing lists the rooms, so to add a lesson is to add its module.
"""
