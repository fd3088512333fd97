from .bot import SupportBot

__all__ = ["SupportBot"]
