"""Architectures, native to torch and tiny; one file each, found by discovery."""
