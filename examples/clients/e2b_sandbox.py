"""A program for E2B, on a service of one's own (pip install e2b-code-interpreter). Nothing in it knows of that; three variables do:

    snapcell serve --dev          # prints its address and an e2b-key
    E2B_API_KEY=e2b_… E2B_API_URL=http://127.0.0.1:8480 E2B_SANDBOX_URL=http://127.0.0.1:8480 examples/clients/e2b_sandbox.py
"""
from e2b_code_interpreter import Sandbox

sandbox = Sandbox.create(timeout=60)
try:
    sandbox.files.write("numbers.txt", "\n".join(map(str, range(2, 50))))
    sandbox.run_code("numbers = [int(line) for line in open('numbers.txt')]")
    execution = sandbox.run_code("sum(n for n in numbers if all(n % d for d in range(2, n)))")
    print(execution.text)
    print(sandbox.commands.run("wc -l < numbers.txt").stdout.strip())
finally:
    sandbox.kill()
