"""`triage "The page is blank"` prints what to do with the report."""

import argparse

from triage.agent import triage_report


def main() -> None:
    parser = argparse.ArgumentParser(prog="triage", description=__doc__)
    parser.add_argument("report", help="the text of the report")
    parser.add_argument("--strict", action="store_true", help="ask for steps to reproduce")
    arguments = parser.parse_args()
    print(triage_report(arguments.report, strict=arguments.strict))


if __name__ == "__main__":
    main()
