    runner = InMemoryRunner(@AGENT@)
    session = await runner.session_service.create_session(app_name=runner.app_name, user_id="fluxloop")
    content = types.Content(role="user", parts=[types.Part(text=message)])
    answer = ""
    async for event in runner.run_async(user_id="fluxloop", session_id=session.id, new_message=content):
        parts = event.content.parts if event.is_final_response() and event.content else []
        said = "".join(part.text for part in parts or [] if part.text and not getattr(part, "thought", False))
        answer = said or answer  # The last of several agents answers.
    if not answer:
        raise RuntimeError("the agent gave no text")
    return answer
