"""The library that `ntapi.fleet.Redis` needs."""

__version__ = "0.2.0"
