"""Frameworks that know nothing but E2B, with models that say what is written here. Prints what came of it as JSON."""
import asyncio
import json
import logging

from e2b import Sandbox


def smolagents():
    """Its executor keeps variables between steps, sends tools and arguments, and reads errors and the final answer."""
    from smolagents import ChatMessage, CodeAgent, LogLevel, Model, tool

    @tool
    def doubled(number: int) -> int:
        """Doubles.

        Args:
            number: What is doubled.
        """
        return 2 * number

    class Scripted(Model):
        steps = ["x = sum(range(10))\nprint('so far', x)", "import nowhere", "1 / 0", "final_answer({'sum': doubled(x), 'given': given})"]

        def __init__(self):
            super().__init__(model_id="scripted")
            self.seen = []

        def generate(self, messages, stop_sequences=None, **_):
            self.seen.append(str(messages[-1].content))
            return ChatMessage(role="assistant", content="Thought: go on\n<code>\n%s\n</code>" % self.steps[len(self.seen) - 1])

    model = Scripted()
    with CodeAgent(tools=[doubled], model=model, executor_type="e2b", verbosity_level=LogLevel.OFF) as agent:
        answer = agent.run("add", additional_args={"given": [1, 2]})
    return {"answer": answer, "printed": "so far 45" in model.seen[1], "missing": "ModuleNotFoundError" in model.seen[2],
            "divided": "ZeroDivisionError" in model.seen[3]}


async def openai_agents():
    """An agent with a sandbox of its own: its workspace is filled, its commands run there, its files are read back."""
    from agents import ModelResponse, Model, RunConfig, Runner, Usage, set_tracing_disabled
    from agents.extensions.sandbox.e2b import E2BSandboxClient, E2BSandboxClientOptions
    from agents.run_config import SandboxRunConfig
    from agents.sandbox import Manifest, SandboxAgent
    from agents.sandbox.capabilities import Shell
    from agents.sandbox.entries import File
    from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText
    set_tracing_disabled(True)

    class Scripted(Model):
        commands = ["cat given.txt; python3 -c 'print(6 * 7)' | tee made.txt", "exit 3", "cat made.txt"]

        def __init__(self):
            self.told = []

        async def get_response(self, system_instructions, input, *_, **__):
            self.told.append(input[-1].get("output") if isinstance(input, list) else None)
            step = len(self.told) - 1
            if step < len(self.commands):
                arguments = json.dumps({"cmd": self.commands[step], "yield_time_ms": 30000})
                output = ResponseFunctionToolCall(type="function_call", call_id="c%d" % step, name="exec_command", arguments=arguments)
            else:
                text = ResponseOutputText(type="output_text", text="done", annotations=[])
                output = ResponseOutputMessage(id="m", type="message", role="assistant", status="completed", content=[text])
            return ModelResponse(output=[output], usage=Usage(), response_id=None)

        def stream_response(self, *_, **__):
            raise NotImplementedError

    model = Scripted()
    agent = SandboxAgent(name="a", model=model, capabilities=[Shell()])
    manifest = Manifest(root="/home/user/work", entries={"given.txt": File(content=b"given\n")})
    options = E2BSandboxClientOptions("e2b", template="base", timeout=300, on_timeout="kill")
    run = RunConfig(sandbox=SandboxRunConfig(client=E2BSandboxClient(), options=options, manifest=manifest))
    answer = (await Runner.run(agent, "go", run_config=run)).final_output
    return {"answer": answer, "first": "given\n42" in model.told[1], "failed": "code 3" in model.told[2], "kept": "42" in model.told[3]}


def main():
    logging.disable(logging.CRITICAL)
    said = {"smolagents": smolagents(), "openai_agents": asyncio.run(openai_agents())}
    said["left"] = len(Sandbox.list().next_items())
    print(json.dumps(said))


if __name__ == "__main__":
    main()
