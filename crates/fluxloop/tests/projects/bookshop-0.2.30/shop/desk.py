"""The support desk of a book shop. It answers by rules; SHOP_RELEASE chooses how well."""

import os
import time

import fluxloop

RELEASE = int(os.environ.get("SHOP_RELEASE", "4"))
ORDERS = {"4711": "on its way, due on Thursday", "4712": "ready in the shop"}


class BackendError(RuntimeError):
    """A service behind the desk does not answer."""


@fluxloop.tool(name="look_up_order")
def look_up_order(number: str) -> str:
    time.sleep(0.05)
    return ORDERS.get(number, "not known to us")


def refund(message: str) -> str:
    if RELEASE < 3:
        raise BackendError("payment backend is down")
    time.sleep(0.4)  # The slowest of all answers, in every release that has it.
    return "Your money is on its way back. It takes three days."


def answer(message: str) -> str:
    text = message.lower()
    if RELEASE == 2:
        raise BackendError("catalogue is offline")
    if "refund" in text or "money" in text:
        return refund(text)
    if "opening" in text or "open" in text:
        return "" if RELEASE < 4 else "We are open from 9 to 18, on Saturdays until 14."
    if "gift" in text and RELEASE == 4:
        raise BackendError('voucher service: "amount" is missing\n  in line 3 of its answer')
    for number in ORDERS:
        if number in text:
            return f"Order {number} is {look_up_order(number)}."
    return "Thank you for your message. Which order number is it about?"
