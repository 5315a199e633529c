"""mini-swe-agent with a scripted model, its docker executable named by argument 1: what the model saw, as JSON."""
import json
import os
import sys
import tempfile

os.environ["MSWEA_SILENT_STARTUP"] = "1"
os.environ["MSWEA_GLOBAL_CONFIG_DIR"] = tempfile.mkdtemp()  # not in the home folder of who tests
os.environ["MSWEA_DOCKER_EXECUTABLE"] = sys.argv[1]

from minisweagent.agents.default import DefaultAgent  # noqa: E402
from minisweagent.environments.docker import DockerEnvironment  # noqa: E402
from minisweagent.models.test_models import DeterministicModel, make_output  # noqa: E402

COMMANDS = ["echo 'print(6 * 7)' > answer.py && python3 answer.py", "ls; exit 3", "cat /etc/shadow",
            "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT; cat answer.py"]
model = DeterministicModel(outputs=[make_output("go on", [{"command": command}]) for command in COMMANDS])
environment = DockerEnvironment(image="python:3.12-slim", cwd="/home/user", env={"PAGER": "cat"})
agent = DefaultAgent(model, environment, system_template="You work.", instance_template="{{task}}", cost_limit=0, step_limit=10)
result = agent.run("a task")
container = environment.container_id
environment.cleanup()
print(json.dumps({"result": result, "seen": [str(message.get("content")) for message in agent.messages], "container": container}))
