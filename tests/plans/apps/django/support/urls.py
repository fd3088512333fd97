from django.urls import path

from . import views

app_name = "support"
urlpatterns = [
    path("chat/", views.chat, name="chat"),
]
