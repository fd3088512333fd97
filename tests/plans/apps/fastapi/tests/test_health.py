from fastapi.testclient import TestClient

from app.main import app


def test_the_service_is_healthy():
    assert TestClient(app).get("/healthz").json() == {"status": "ok"}
