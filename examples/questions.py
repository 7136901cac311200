"""Answer questions of an agent: with options, as free text, in a form, or for the approval of a plan."""

from sandbox_agent import REJECT, Question, Reject, SandboxAgent


def answer(question: Question) -> str | Reject:
    print("The agent asks:", question.prompt, [option.label for option in question.options])
    if question.options:
        return question.options[0].value
    return {"integer": "3", "string": "Ada"}.get(question.value_type, "") or REJECT


with SandboxAgent.start(on_question=answer) as client:
    session = client.sessions.create("mock", mode="plan")
    for prompt in ("question", "a free question", "elicit", "plan approval"):
        print(session.prompt(prompt).text)
