"""Each framework drives its adapter by a scripted model; what came of it, as JSON."""
import asyncio
import json
import os

from snapcell import CodeExecutionTool, CodeExecutor

OPTIONS = {"allow_degraded": [name for name in os.environ.get("SNAPCELL_TEST_DEGRADED", "").split(",") if name]}


def langchain():
    from langchain_core.messages import AIMessage
    from snapcell.adapters.langchain import snapcell_tool
    with CodeExecutor(**OPTIONS) as executor:
        tool = snapcell_tool(executor)
        # What a model would ask for, in the framework's own form.
        asked = AIMessage(content="", tool_calls=[{"name": tool.name, "args": {"code": "x = 41\nx + 1"}, "id": "1", "type": "tool_call"}])
        answers = [tool.invoke(call) for call in asked.tool_calls]
        return {"argument": list(tool.args), "answer": json.loads(answers[0].content), "id": answers[0].tool_call_id,
                "again": json.loads(tool.invoke({"code": "x"}))}


def smolagents():
    from smolagents import ChatMessage, CodeAgent, LogLevel, Model
    from smolagents.monitoring import AgentLogger
    from snapcell.adapters.smolagents import SnapcellExecutor

    class Scripted(Model):
        steps = ["x = sum(range(10))\nprint(x)", "import nowhere", "final_answer({'sum': x, 'pair': (1, 2)})"]

        def __init__(self):
            super().__init__(model_id="scripted")
            self.seen = []

        def generate(self, messages, stop_sequences=None, **_):
            self.seen.append(str(messages[-1].content))
            return ChatMessage(role="assistant", content="Thought: go on\n<code>\n%s\n</code>" % self.steps[len(self.seen) - 1])

    model = Scripted()
    executor = SnapcellExecutor([], AgentLogger(level=LogLevel.OFF), **OPTIONS)
    try:
        agent = CodeAgent(tools=[], model=model, executor=executor, verbosity_level=LogLevel.OFF)
        answer = agent.run("add", additional_args={"given": [1, 2]})
        given = executor("given")
    finally:
        executor.cleanup()
    return {"answer": answer["sum"], "pair": list(answer["pair"]), "printed": "45" in model.seen[1], "failed": "nowhere" in model.seen[2],
            "given": given.output}


async def openai_agents():
    from agents import Agent, Model, ModelResponse, Runner, Usage, set_tracing_disabled
    from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText
    from snapcell.adapters.openai_agents import snapcell_tool
    set_tracing_disabled(True)

    class Scripted(Model):
        def __init__(self):
            self.inputs = []

        async def get_response(self, system_instructions, input, *_, **__):
            self.inputs.append(input)
            if len(self.inputs) == 1:
                call = ResponseFunctionToolCall(type="function_call", call_id="c", name="run_python", arguments='{"code": "6 * 7"}')
                return ModelResponse(output=[call], usage=Usage(), response_id=None)
            told = json.loads(self.inputs[-1][-1]["output"])["value"]
            text = ResponseOutputText(type="output_text", text="it is " + told, annotations=[])
            return ModelResponse(output=[ResponseOutputMessage(id="m", type="message", role="assistant", status="completed", content=[text])],
                                 usage=Usage(), response_id=None)

        def stream_response(self, *_, **__):
            raise NotImplementedError

    async with CodeExecutionTool(**OPTIONS) as tool:
        agent = Agent(name="a", model=Scripted(), tools=[snapcell_tool(tool)])
        return {"answer": (await Runner.run(agent, "what is it?")).final_output}


async def fastmcp():
    from fastmcp import Client, FastMCP
    from snapcell.adapters.fastmcp import register
    server = FastMCP("test")
    tool = register(server, **OPTIONS)
    async with Client(server) as client:
        names = [one.name for one in await client.list_tools()]
        answer = await client.call_tool("run_python", {"code": "y = 5\ny"})
    await tool.close()
    return {"names": names, "value": answer.data["value"]}


print(json.dumps({"langchain": langchain(), "smolagents": smolagents(), "openai_agents": asyncio.run(openai_agents()),
                  "fastmcp": asyncio.run(fastmcp())}))
