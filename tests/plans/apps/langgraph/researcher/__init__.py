from researcher.graph import graph

__all__ = ["graph"]
