"""Stub for tools that still call it; the metadata is in setup.cfg."""

from setuptools import setup

setup()
