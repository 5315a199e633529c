"""LangChain's shell tool over `docker run`, the executable named by argument 1, with a scripted model: what it saw, as JSON."""
import json
import sys

from langchain.agents import create_agent
from langchain.agents.middleware import DockerExecutionPolicy, ShellToolMiddleware
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage

COMMANDS = ["cd /home/user; x=41", "echo $((x + 1)) > kept; cat kept", "touch /usr/evil"]


class Scripted(GenericFakeChatModel):
    def bind_tools(self, tools, **_):
        return self


def call(number, command):
    return AIMessage(content="", tool_calls=[{"name": "shell", "args": {"command": command}, "id": "c%d" % number, "type": "tool_call"}])


model = Scripted(messages=iter([*(call(i, command) for i, command in enumerate(COMMANDS)), AIMessage(content="done")]))
policy = DockerExecutionPolicy(binary=sys.argv[1], image="python:3.12-alpine3.19", memory_bytes=256 << 20, read_only_rootfs=True, cpus="1",
                               command_timeout=60, startup_timeout=60)
agent = create_agent(model, middleware=[ShellToolMiddleware(execution_policy=policy)])
answer = agent.invoke({"messages": [("user", "go")]})
print(json.dumps([[message.type, str(message.content)] for message in answer["messages"]]))
