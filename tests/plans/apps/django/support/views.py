import json

from django.http import JsonResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from .agent import answer


@csrf_exempt
@require_POST
def chat(request):
    body = json.loads(request.body)
    return JsonResponse({"reply": answer(body["message"])})
