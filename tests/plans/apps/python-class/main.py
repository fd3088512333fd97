"""A conversation in the terminal."""

from assistant.bot import SupportBot


def main() -> None:
    bot = SupportBot()
    try:
        while question := input("> "):
            print(bot.reply(question))
    except EOFError:
        pass


if __name__ == "__main__":
    main()
