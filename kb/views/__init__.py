"""Answers in the form that agents get: plain data of limited size."""
