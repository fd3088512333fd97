"""Uses a sample application as its users do, without FluxLoop: `python -P probes.py APP QUESTION` prints the answer."""

import os
import sys


def fastapi(question):
    from app.main import app
    from fastapi.testclient import TestClient

    return TestClient(app).post("/chat", json={"message": question}).json()["reply"]


def fastapi_inline(question):
    from fastapi.testclient import TestClient
    from main import app

    return TestClient(app).post("/ask", json={"message": question}).json()["reply"]


def flask(question):
    from wsgi import app

    return app.test_client().post("/api/chat", json={"message": question}).get_json()["reply"]


def django(question):
    os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
    import django
    from django.test import Client

    django.setup()
    body = {"message": question}
    return Client().post("/support/chat/", body, content_type="application/json").json()["reply"]


def python_agent(question):
    from triage.cli import main

    sys.argv = ["triage", question]
    main()


def python_class(question):
    from assistant import SupportBot

    return SupportBot().reply(question)


def langgraph(question):
    from researcher import graph

    return graph.invoke({"messages": [{"role": "user", "content": question}]})["messages"][-1].content


name, question = sys.argv[1:]
answer = globals()[name.replace("-", "_")](question)
if answer:
    print(answer)
