from flask import Blueprint, jsonify, request

from .agent import reply_to

api = Blueprint("api", __name__)


@api.get("/status")
def status():
    return jsonify(status="ok")


@api.post("/chat")
def chat():
    body = request.get_json()
    if not body.get("message"):
        return jsonify(error="message is missing"), 400
    return jsonify(reply=reply_to(body["message"], body.get("history")))
