"""Campaigns: a driver that searches, a server that has imported the framework, workers that run.

The driver imports no framework. The server imports one and never compiles anything, so that every
worker forked from it starts as a fresh process would, in milliseconds. Workers may die.
"""
